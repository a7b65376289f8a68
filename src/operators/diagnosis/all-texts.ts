import { BODY_TEXTS } from "./body-variants.ts";
import { CALLER_TEXTS } from "./check-as-caller.ts";
import { FORM_TEXTS } from "./check-form.ts";
import { TIMESTAMP_TEXTS } from "./check-timestamp.ts";
import { DIAGNOSIS_TEXTS } from "./diagnose-signature.ts";
import { JSON_TEXTS } from "./json-causes.ts";
import { KEY_TEXTS } from "./key-variants.ts";
import { OTHER_TEXTS } from "./other-computations.ts";
import { SIGNATURE_TEXTS } from "./read-signature.ts";
import { LIST_WORDS } from "./words.ts";

/** All English texts of this folder. Each needs a translation: src/assets/console/zh.json. */
export const ALL_TEXTS: readonly string[] = [
  ...new Set([
    ...BODY_TEXTS,
    ...CALLER_TEXTS,
    ...DIAGNOSIS_TEXTS,
    ...FORM_TEXTS,
    ...JSON_TEXTS,
    ...KEY_TEXTS,
    ...LIST_WORDS,
    ...OTHER_TEXTS,
    ...SIGNATURE_TEXTS,
    ...TIMESTAMP_TEXTS,
  ]),
];
