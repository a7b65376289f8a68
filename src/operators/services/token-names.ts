import * as z from "zod/mini";
import { displayName } from "../../core/fields.ts";
import { readTokenText } from "../access/token-text.ts";
import { WORKER } from "../store/audit.ts";
import { ROOT } from "./identity.ts";

/** Letters of other alphabets, and digits, that look like letters of the names below. NFKD turns other look-alikes into Latin letters. */
const LOOK_ALIKES: readonly [plain: string, others: string][] = [
  ["a", "аαаᴀɑ4"],
  ["b", "ᴃʙ"],
  ["c", "сϲᴄ"],
  ["d", "ԁᴅ"],
  ["e", "еєεᴇ3"],
  ["i", "іιıɪ1lӏ"],
  ["k", "кκᴋ"],
  ["m", "мᴍ"],
  ["n", "пηոɴ"],
  ["o", "оοσօᴏ0"],
  ["p", "рρᴘ"],
  ["r", "гʀᴦꓣ"],
  ["t", "тτᴛ7"],
  ["w", "ѡԝшωᴡ"],
];

const PLAIN_LETTER_OF = new Map(
  LOOK_ALIKES.flatMap(([plain, others]) => [...others].map((other) => [other, plain] as const)),
);

/** A name as a reader sees it: no accents, small letters, and only letters and digits. */
const seenAs = (name: string): string =>
  [
    ...name
      .normalize("NFKD")
      .toLowerCase()
      .replace(/[^\p{L}\p{N}]/gu, ""),
  ]
    .map((letter) => PLAIN_LETTER_OF.get(letter) ?? letter)
    .join("")
    .replaceAll("vv", "w")
    .replaceAll("rn", "m");

/** The names in the audit log that belong neither to a token nor to a person. */
const OWN_NAMES = [ROOT.who.id, ROOT.who.name, WORKER];
const OWN_NAMES_AS_SEEN = new Set(OWN_NAMES.map(seenAs));

const ADDRESS = /[^@]@[^@]/;
/** An id of a token or a person, {@link seenAs} a reader sees it: of the 16 digits, 0, 1, 3, 4 and 7 are letters then. */
const OPERATOR_ID = /^(tok|per)[25689a-foit]{32}$/;

export const TOKEN_NAME_RULE = `must not look like ${OWN_NAMES.join(", ")}, an e-mail address, a token, or the id of a token or a person`;

/** Whether a reader of the audit log could take a token or a person of this name for somebody else. */
function looksLikeAnother(name: string): boolean {
  const visible = name.normalize("NFKC").replace(/[\p{DI}\p{Z}]/gu, "");
  const seen = seenAs(name);
  return OWN_NAMES_AS_SEEN.has(seen) || ADDRESS.test(visible) || OPERATOR_ID.test(seen);
}

/** The name of a new token or person in a body. A token that is pasted here by mistake must not be stored, nor shown in lists. */
export const operatorName = displayName.check(
  z.refine((name) => !looksLikeAnother(name) && readTokenText(name.trim()) === undefined, TOKEN_NAME_RULE),
);
