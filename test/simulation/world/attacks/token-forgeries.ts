import { crc32 } from "node:zlib";
import type { Chance } from "../../machine/chance.ts";
import type { World } from "../world.ts";

/** Tokens for programs that nobody made. */

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

function base62(number: number, length: number): string {
  let digits = "";
  for (let rest = number; digits.length < length; rest = Math.floor(rest / 62)) digits = DIGITS[rest % 62] + digits;
  return digits;
}

const withCheck = (text: string): string => text + base62(crc32(text), 6);

/** A text in the form of a token, its check included. */
const invented = (chance: Chance): string =>
  withCheck(`ast_${Array.from({ length: 43 }, () => chance.one([...DIGITS])).join("")}`);

/** Each makes a token that opens nothing, by the name of what is wrong with it. */
export const FORGED_TOKENS: Record<string, (chance: Chance, real: string) => string> = {
  invented,
  "one character wrong": (chance, real) => {
    const place = chance.integer(4, real.length - 1);
    return real.slice(0, place) + (real[place] === "x" ? "y" : "x") + real.slice(place + 1);
  },
  "one character wrong, and a new check": (_, real) =>
    withCheck(real.slice(0, 20) + (real[20] === "x" ? "y" : "x") + real.slice(21, -6)),
  "cut short": (chance, real) => real.slice(0, -chance.integer(1, 6)),
  "too long": (_, real) => `${real}0`,
  "another case": (_, real) => real.toUpperCase(),
};

/** A token that is wrong in one way. Some of them are near to one that was made. */
export function forgedToken(world: World, chance: Chance): string {
  const { badges } = world.company;
  const kind = chance.one(Object.keys(FORGED_TOKENS));
  world.count(`forged token: ${kind}`);
  const real = badges.length > 0 ? chance.one(badges).text : invented(chance);
  return FORGED_TOKENS[kind]?.(chance, real) ?? real;
}
