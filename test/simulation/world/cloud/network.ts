import type { Answer, Call } from "../call.ts";
import { faultStrikes, type NetworkState } from "./air.ts";

/** Thrown when the caller gets no answer over the network. */
export class NetworkError extends Error {
  override readonly name = "NetworkError";
}

/**
 * Brings a request to the Worker and the answer back to the caller. The Worker gives undefined when the call was ended.
 *
 * @throws NetworkError when the caller gets no answer
 */
export async function overNetwork(
  air: NetworkState,
  losses: number,
  call: Call,
  serve: () => Promise<Answer | undefined>,
): Promise<Answer> {
  const { scheduler, chance, witness } = air;
  const travel = () => scheduler.sleep(chance.between(1, 40));
  const isLost = faultStrikes(air, losses);
  const isAnswerLost = chance.happens(0.5);
  await travel();
  if (isLost && !isAnswerLost) {
    witness.note(call, "lost on the way to the Worker", "network: request lost");
    await scheduler.sleep(chance.between(10, 5_000));
    throw new NetworkError("connection lost");
  }
  const answer = await serve();
  await travel();
  if (answer === undefined || isLost) {
    witness.note(call, "the caller gets no answer", isLost ? "network: answer lost" : undefined);
    throw new NetworkError("connection lost");
  }
  return answer;
}
