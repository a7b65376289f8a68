import type { Answer } from "../../world/call.ts";
import type { Operator } from "./operator.ts";

/** How operators rotate the secrets of apps and of webhooks. */

interface RotationBody {
  overlap_seconds: number;
  expected_version?: string | undefined;
}

/**
 * Rotates a secret. When the answer asks which secret ends, repeats the call with that field. Sometimes sends the field
 * at once.
 *
 * @param path of the app or the webhook
 */
export async function rotateAt(
  operator: Operator,
  path: string,
  command: RotationBody,
  wantedEnds?: string,
): Promise<Answer | undefined> {
  const { chance, world } = operator;
  const ends = wantedEnds ?? chance.one([undefined, undefined, "previous", "current"]);
  const answer = await operator.insist("POST", `${path}/rotate`, { ...command, ...(ends && { ends }) });
  if (answer?.status !== 409 || chance.happens(0.3)) return answer;
  if (answer.body.includes("An overlap runs")) {
    world.count("rotation that said which secret ends");
    const body = { ...command, ends: chance.one(["previous", "current"]) };
    return operator.insist("POST", `${path}/rotate`, body);
  }
  return answer.body.includes("No overlap runs") ? operator.insist("POST", `${path}/rotate`, command) : answer;
}

/** Ends an overlap, sometimes twice, and sometimes only for one version. */
export async function endOverlapAt(operator: Operator, path: string, version: string | undefined): Promise<void> {
  const { chance } = operator;
  const body = version !== undefined && chance.happens(0.5) ? { expected_version: version } : undefined;
  for (let i = chance.integer(1, 2); i > 0; i--) await operator.insist("POST", `${path}/end-overlap`, body);
}
