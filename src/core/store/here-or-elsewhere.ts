import { ServiceError } from "../errors.ts";
import type { TryWatch } from "./run-batch.ts";

/** The answer of a database, or another place to ask. */
type HereOrElsewhere<T, Place> = { answer: T } | { elsewhere: Place };

/**
 * Asks a database that may be the wrong one, because a cache named it. `findPlace` starts after the first try without an answer, and runs
 * beside the further tries. So a slow database gets all its tries, and a database that hangs does not use up the time. No further try
 * begins after `findPlace` has found a place.
 *
 * @param ask  asks with retries and passes them the watch
 * @param findPlace finds another place, or undefined when this place is right. It is called at most once. Its errors count as undefined
 * @throws any error of `ask`, when no other place was found
 */
export async function hereOrElsewhere<T, Place>(
  ask: (watch: TryWatch) => Promise<T>,
  findPlace: () => Promise<Place | undefined>,
): Promise<HereOrElsewhere<T, Place>> {
  const otherPlace = Promise.withResolvers<{ elsewhere: Place }>();
  let [lookResult, isPlaceFound]: [Promise<Place | undefined> | undefined, boolean] = [undefined, false];
  const lookOnce = () => {
    lookResult ??= findPlace().catch(() => undefined);
    return lookResult;
  };
  const onFault = () => {
    void lookOnce().then((elsewhere) => {
      if (elsewhere === undefined) return;
      isPlaceFound = true;
      otherPlace.resolve({ elsewhere });
    });
  };
  const askHere = async (): Promise<HereOrElsewhere<T, Place>> => {
    try {
      return { answer: await ask({ onFault, isOver: () => isPlaceFound }) };
    } catch (fault) {
      if (!(fault instanceof ServiceError && fault.code === "unavailable")) throw fault;
      const elsewhere = await lookOnce();
      if (elsewhere === undefined) throw fault;
      return { elsewhere };
    }
  };
  return Promise.race([askHere(), otherPlace.promise]);
}
