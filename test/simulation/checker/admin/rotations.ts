import type { Row } from "../../platform/database.ts";
import type { Settings } from "../../world/cloud/settings.ts";
import type { Model } from "../model.ts";
import { secretIn } from "../row-secrets.ts";
import { hasKeyOf } from "../seals.ts";
import type { Written } from "./intents.ts";
import { becomes } from "./row-changes.ts";

/** The rules of rotations, the same for apps and for webhooks: docs/operating.md, "Rotating a secret once". */

export interface RotationAsked {
  overlap: number;
  expected: string | undefined;
  ends: string | undefined;
}

/** Which old secret a rotation keeps; undefined when it is refused. */
function keptBy({ overlap, ends }: RotationAsked, row: Row, clock: number): "in use" | "previous" | "none" | undefined {
  if (overlap === 0) return ends === "current" ? undefined : "none";
  const isRunning = Number(row.previous_expires_at ?? 0) > clock;
  if (ends === "current") return isRunning ? "previous" : undefined;
  return isRunning && ends === undefined ? undefined : "in use";
}

/** Whether a rotation contradicts itself: no old secret stays, and the previous one keeps its time. */
export const isContradictory = ({ overlap, ends }: RotationAsked): boolean => overlap === 0 && ends === "current";

/** The status of a rotation of the app or webhook in this row. */
export function statusOfRotation(asked: RotationAsked, row: Row, clock: number, settings: Settings): number {
  if (asked.expected !== undefined && asked.expected !== row.version) return 409;
  if (keptBy(asked, row, clock) === undefined) return 409;
  return hasKeyOf(settings, row.secret) ? 200 : 500;
}

/** How a rotation's change of a row is wrong. Notes the new secret. */
export function wrongRotation(
  model: Model,
  asked: RotationAsked,
  { clock, settings }: { clock: number; settings: Settings },
  change: Written,
): string | undefined {
  const { before, after } = change;
  if (before === null || after === null) return "it neither makes nor removes";
  if (asked.expected !== undefined && before.version !== asked.expected) return "it has another version than expected";
  if (model.secrets.has(String(after.version))) return "its version was given before";
  const current = secretIn(settings, after, "current");
  if (current === undefined) return "its seal does not open";
  const inUse = model.secrets.get(String(before.version));
  if (current === inUse) return "the secret is the same";
  const kept = keptBy(asked, before, clock);
  if (kept === undefined)
    return "an overlap runs and nothing says which secret ends, or none runs and the one in use ends";
  model.secrets.set(String(after.version), current);
  const { version = "", secret = "", previous_secret = "" } = after;
  if (kept === "previous") return becomes(change, { version, secret });
  if (kept === "none") return becomes(change, { version, secret, ...NO_PREVIOUS });
  if (secretIn(settings, after, "previous") !== inUse) return "the secret in use is not kept";
  const [previous_version = "", previous_expires_at] = [before.version, clock + asked.overlap];
  return becomes(change, { version, secret, previous_secret, previous_version, previous_expires_at });
}

const NO_PREVIOUS = { previous_version: null, previous_secret: null, previous_expires_at: null };

/** How the change of a call that ends an overlap is wrong. */
export function wrongEnd(
  expected: string | undefined,
  changes: readonly Written[],
  change: Written,
): string | undefined {
  const { before } = change;
  if (changes.length > 0) return "the call has ended an overlap already";
  if (expected !== undefined && before?.version !== expected) return "it has another version than expected";
  if (before?.previous_version == null) return "there is no previous secret";
  return becomes(change, NO_PREVIOUS);
}

/**
 * How the answer to a rotation's `previous_expires_at` may be: as the call stored it, or null when another call ended the
 * overlap before this one was answered.
 *
 * @param now the row as it is now
 */
export const untilShown = (row: Row, now: Row | undefined): Row[string][] => [
  row.previous_expires_at ?? null,
  ...(now !== undefined && now.version === row.version ? [now.previous_expires_at ?? null] : []),
];

/**
 * How the answer to the end of an overlap is wrong.
 *
 * @param rows every state of the row since the call arrived, the newest last
 */
export function wrongEndAnswer(body: object, rows: readonly Row[]): string | undefined {
  const { version, previous_expires_at, ...more } = body as Record<string, unknown>;
  if (previous_expires_at !== null || Object.keys(more).length > 0) return "it says more, or that an overlap runs";
  if (!rows.some((row) => row.version === version)) return "the version was never in force since the call";
  const now = rows.at(-1);
  const isThere = now !== undefined && now.version === version && now.previous_version !== null;
  return isThere ? "the previous secret is there" : undefined;
}
