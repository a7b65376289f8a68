import type { ConsoleCall } from "../env.ts";
import { form, page } from "../page-call.ts";
import { postSignatureCheck, signatureCheckPage } from "./signature-check-page.tsx";

/** An operator of one site checks requests of this site. */
const SEEN = { scope: "sites" } as const;

export const SIGNATURE_CHECK_CALLS: ConsoleCall[] = [
  page("viewer", "/signature-check", signatureCheckPage, SEEN),
  form("viewer", "/signature-check", "It only reads.", postSignatureCheck, SEEN),
];
