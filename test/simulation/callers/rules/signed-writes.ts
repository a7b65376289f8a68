import type { App } from "../../checker/home-model.ts";
import type { Model } from "../../checker/model.ts";
import type { Violate } from "../../checker/violate.ts";
import type { RowChange } from "../../platform/database.ts";
import { formMismatch, NO_ANSWER } from "./answers.ts";
import { difference, expectedRows } from "./expected-rows.ts";
import { isSignedBy } from "./signatures.ts";
import { aboutOf, isWriting, type Verdict, verdictsAt, type WatchedCall, type WritingVerdict } from "./verdicts.ts";

/** The rule that a request breaks when it writes although it has this verdict. */
const RULES: Partial<Record<Verdict["kind"], string>> = {
  used: "each ranstr has at most one effect",
  unsigned: "only a request signed by a secret in force is accepted",
  stale: "a request with a stale timestamp changes nothing",
  site_closed: "a closed site is not written to",
  home_closed: "a closed home is not written to",
};

/**
 * Checks a signed call's writes against the verdicts that it may get at this moment, before the model applies them.
 *
 * @returns the verdict of the call; undefined after a violation
 */
export function checkWritten(
  model: Model,
  violate: Violate,
  homeName: string,
  watched: WatchedCall,
  changes: readonly RowChange[],
): { app: App; verdict: WritingVerdict } | undefined {
  const { call, commit } = watched;
  const report = (rule: string, what: string): undefined => {
    violate(rule, `${call.name}${what}`, aboutOf(watched));
    return undefined;
  };
  const text = ` wrote ${JSON.stringify(changes[0])}`;
  if (commit !== undefined) return report("a second try writes nothing", text);
  const home = model.home(homeName);
  const siteId = changes[0]?.after?.site_id;
  const app = home.apps.get(`${siteId}/${watched.reading.appid}`);
  if (app === undefined) return report("a request writes only into its own site", text);
  if (model.isEndAnswered(homeName, app.siteId))
    return report("nothing is written for an app of a site that ended", text);
  const verdicts = verdictsAt(model, home, app, watched);
  const verdict = verdicts.find(isWriting);
  if (verdict === undefined) {
    const [{ kind }] = verdicts as [Verdict];
    const rule = RULES[kind] ?? "only a request that the contract allows writes";
    return report(rule, ` (${kind}) wrote ${JSON.stringify(changes)}`);
  }
  const wrong = difference(changes, expectedRows(home, app, watched, verdict, changes));
  if (wrong !== undefined) {
    const rule =
      verdict.kind === "accepted"
        ? "an accepted request writes all of its session and nothing else"
        : "a refused or repeated request writes nothing but its ranstr";
    return report(rule, `: ${wrong}`);
  }
  const { secret } = changes.find(({ table }) => table === "nonces")?.after ?? {};
  if (![app.version, app.previousVersion].includes(String(secret)) || !isSignedBy(model, String(secret), watched)) {
    return report("a nonce names the version of the secret that verified", ` wrote ${JSON.stringify(secret)}`);
  }
  // This commit came after the answer, so the answer must have been that the result is unknown.
  if (call.answer !== undefined && formMismatch(call, call.answer, NO_ANSWER) !== undefined) {
    const what = ` was answered ${call.answer.status} and then came to ${JSON.stringify(verdict)}`;
    report("only a 503 leaves open whether the request was done", what);
  }
  return { app, verdict };
}
