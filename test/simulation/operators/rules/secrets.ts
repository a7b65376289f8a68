import type { Model } from "../../checker/model.ts";
import { secretIn } from "../../checker/row-secrets.ts";
import { keyId, sealedWith } from "../../checker/seals.ts";
import type { Row } from "../../platform/database.ts";
import type { Operation, OperationOf, WrittenInHome } from "./intents.ts";

/**
 * Rules for the secrets of apps and webhooks: docs/operating/sites-and-secrets.md, "Rotating a secret once", and "Rotating the master
 * key".
 */

/** Checks the secrets of a row after a change. Also notes a new secret in the model. */
export function wrongSecrets(model: Model, operation: Operation, change: WrittenInHome): string | undefined {
  const { table, before, after } = change;
  if ((table !== "apps" && table !== "webhooks") || after === null) return undefined;
  const { settings } = operation.call;
  if (before?.secret !== after.secret) {
    const current = secretIn(settings, after, "current");
    if (current === undefined) return "its seal does not open";
    if (before?.version !== after.version) {
      if (model.secrets.has(String(after.version))) return "its version was given before";
      if (before !== null && current === model.secrets.get(String(before.version))) return "the secret is the same";
      model.secrets.set(String(after.version), current);
    } else if (current !== model.secrets.get(String(after.version))) return "the secret is lost";
  } else if (before?.version !== after.version) return "the secret is the same";
  if (before?.previous_secret !== after.previous_secret && after.previous_secret !== null) {
    if (after.previous_version === null) return "it has a secret without a version";
    const previous = secretIn(settings, after, "previous");
    if (previous === undefined || previous !== model.secrets.get(String(after.previous_version)))
      return "the previous secret is lost";
  }
  if (before === null) return undefined;
  const { intent } = operation;
  if (intent.kind === "rotate" || intent.kind === "endOverlap") {
    if (before.revoked_at != null) return "the app is revoked";
    if (before.version !== (intent.expected ?? before.version)) return "it has another version than expected";
  }
  if (intent.kind === "rotate") return wrongRotation({ ...operation, intent }, before, after);
  if (intent.kind === "endOverlap") return wrongEnd(before, after);
  if (intent.kind !== "reseal") return undefined;
  if (settings.closedHomes.includes(change.home)) return "the home is closed";
  const wrong = ["secret", "previous_secret"].find(
    (column) => after[column] !== before[column] && sealedWith(after[column]) !== keyId(settings.masterKey),
  );
  return wrong && `${wrong} is sealed with another key`;
}

/** The version that stays valid beside the new one; null for none, undefined when the rotation is refused. */
function keptSecret({ overlap, ends }: OperationOf<"rotate">["intent"], row: Row, clock: number): unknown {
  if (overlap === 0) return ends === "current" ? undefined : null;
  const isRunning = Number(row.previous_expires_at ?? 0) > clock;
  if (ends === "current") return isRunning ? row.previous_version : undefined;
  return isRunning && ends === undefined ? undefined : row.version;
}

function wrongRotation({ call, intent, changes }: OperationOf<"rotate">, before: Row, after: Row): string | undefined {
  // A rotation may rotate again when another one came first, but it may not rotate its own version.
  const isItsOwn = changes.some((each) => each.after?.version === before.version);
  if (isItsOwn || (intent.expected !== undefined && changes.length > 0)) return "the call has rotated already";
  const version = keptSecret(intent, before, call.clock);
  if (version === undefined)
    return "an overlap runs and the call does not say which secret ends, or the current secret ends without an overlap";
  if (after.previous_version !== version) return `it keeps ${after.previous_version}, expected ${version}`;
  const until =
    version === null ? null : version === before.version ? call.clock + intent.overlap : before.previous_expires_at;
  return after.previous_expires_at === until
    ? undefined
    : `the overlap ends at ${after.previous_expires_at}, expected ${until}`;
}

function wrongEnd(before: Row, after: Row): string | undefined {
  if (before.version !== after.version) return "it has another version";
  return ["previous_version", "previous_expires_at", "previous_secret"].every((column) => after[column] === null)
    ? undefined
    : "the previous secret is still stored";
}
