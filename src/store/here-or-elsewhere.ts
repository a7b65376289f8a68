import { ServiceError } from "../errors.ts";
import type { Watch } from "./run-batch.ts";

/** What a database answered, or the place where to ask instead. */
type HereOrElsewhere<T, Place> = { answer: T } | { elsewhere: Place };

/**
 * Asks a database that may be the wrong one, because a cache named it. After the first try without an answer, `look` looks for the right
 * one, beside the other tries: a slow database loses none of them, and one that hangs does not use up the time. When `look` finds a
 * place, no further try begins here.
 *
 * @param ask  asks with retries, and gives them the watch
 * @param look finds another place, or undefined when this one is right; called once at most. What it throws counts as undefined
 * @throws what `ask` throws, when no other place was found
 */
export async function hereOrElsewhere<T, Place>(
  ask: (watch: Watch) => Promise<T>,
  look: () => Promise<Place | undefined>,
): Promise<HereOrElsewhere<T, Place>> {
  const found = Promise.withResolvers<{ elsewhere: Place }>();
  let [looked, isFound]: [Promise<Place | undefined> | undefined, boolean] = [undefined, false];
  const lookOnce = () => {
    looked ??= look().catch(() => undefined);
    return looked;
  };
  const onFault = () => {
    void lookOnce().then((elsewhere) => {
      if (elsewhere === undefined) return;
      isFound = true;
      found.resolve({ elsewhere });
    });
  };
  const here = async (): Promise<HereOrElsewhere<T, Place>> => {
    try {
      return { answer: await ask({ onFault, isOver: () => isFound }) };
    } catch (fault) {
      if (!(fault instanceof ServiceError && fault.code === "unavailable")) throw fault;
      const elsewhere = await lookOnce();
      if (elsewhere === undefined) throw fault;
      return { elsewhere };
    }
  };
  return Promise.race([here(), found.promise]);
}
