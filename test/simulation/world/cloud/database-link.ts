import type { CarryCall } from "../../platform/d1.ts";
import type { Weather } from "../../weather/weather.ts";
import { callNow, faultStrikes, isHeard, type NetworkState, setOut } from "./air.ts";
import { type Home, RESTARTED } from "./home.ts";

/** Milliseconds after which a call of D1 counts as a fault of the platform, because the Worker may have given up. */
const SLOW_MS = 900;

/** Milliseconds of a call at a slow home, of which a request has time for some. */
const SLOW_CALL_MS = [1_500, 4_000] as const;

/** The fault of a call that lost D1's answer with an error after which the Worker should retry. */
export const TRANSIENT_FAULT = "transient";

const TRANSIENT = "D1_ERROR: Network connection lost.";
const DISCONNECTED = "D1_ERROR: Can't read from request stream because client disconnected.";
const STALL_RESET = "D1_ERROR: D1 DB storage operation exceeded timeout which caused object to be reset.";
/**
 * Errors of D1 and SQLite after which nothing is done, or the result is unknown. Only the first one is worth a retry.
 */
const REFUSALS = [
  TRANSIENT,
  "D1_ERROR: D1 DB is overloaded. Requests queued for too long.",
  "D1_ERROR: internal error",
  "D1_ERROR: database or disk is full: SQLITE_FULL",
  "D1_ERROR: database is locked: SQLITE_BUSY",
  "D1_ERROR: D1 DB exceeded its CPU time limit and was reset.",
  "D1_ERROR: D1 DB's isolate exceeded its memory limit and was reset.",
  "D1_ERROR: Exceeded maximum DB size.",
];

export const DATABASE_FAULTS = [
  "slow",
  "request lost",
  "request lost in silence",
  "down, refusing",
  "down, silent",
  "refused",
  "answer lost",
  "answer lost in silence",
  "restarted",
  "disconnected",
  "stalled, in silence",
] as const;

const ignore = () => {};

/** The faults that a call of D1 meets, drawn before it sets out. */
function drawFaults(air: NetworkState, home: Home, { database: weather, disconnected }: Weather, heldMs: number) {
  const { chance } = air;
  const isSlow = faultStrikes(air, weather.slow);
  const slow =
    heldMs > SLOW_MS
      ? heldMs
      : home.state === "slow"
        ? chance.between(...SLOW_CALL_MS)
        : isSlow
          ? chance.between(100, 15_000)
          : 0;
  const [out, back] = heldMs > 0 ? [heldMs, 0] : chance.happens(0.5) ? [slow, 0] : [0, slow];
  return {
    slow,
    out,
    back,
    lostBefore: faultStrikes(air, weather.lostBefore),
    refused: faultStrikes(air, weather.refused),
    lostAfter: faultStrikes(air, weather.lostAfter),
    failsAtOnce: chance.happens(weather.failsAtOnce),
    disconnects: disconnected > 0 && faultStrikes(air, disconnected) ? chance.one(["before", "after"]) : undefined,
  };
}

/** How an isolate's calls travel to a home and back. */
export function databaseLink(air: NetworkState, home: Home, weather: Weather): CarryCall {
  const { scheduler, chance, witness, moments } = air;
  return async <T>(name: string, work: () => T): Promise<T> => {
    const call = callNow();
    const since = scheduler.now;
    const trip = setOut(air, call, `${home.name} ${name}`);
    if (call !== undefined) witness.asks(call, home.name);
    const nth = call?.trips.filter(({ to }) => to.startsWith(`${home.name} `)).length ?? 0;
    const knows = call?.knows.get(home.name) ?? 0;
    let turn = knows;
    let isStalled = false;
    const fault = (what: (typeof DATABASE_FAULTS)[number], { detail = "", isTransient = false } = {}) => {
      call?.faults.push(isTransient ? TRANSIENT_FAULT : `${home.name}: ${what}`);
      witness.note(call, `D1 ${home.name} ${name}: ${what}${detail}`, `D1: ${what}`);
    };
    const heldMs = call?.hold?.to === trip.to ? call.hold.milliseconds : 0;
    const faults = drawFaults(air, home, weather, heldMs);
    const { slow, out, back, failsAtOnce, disconnects } = faults;
    if (slow > 0) fault("slow", { detail: ` by ${Math.round(slow)} ms` });
    const travelTime = () => chance.between(0.3, 12);
    const pass = (way: "there" | "back", go: () => void) => {
      if (call === undefined) return go();
      const goesOn = moments.pass({ way, call, home: home.name, method: name, nth }, go);
      if (!goesOn) fault("slow", { detail: `, kept on its way ${way}` });
    };
    await call?.gate?.(call, trip.to);
    return new Promise<T>((resolve, reject) => {
      const deliver = (settle: () => void, delay = 0, isAnswer = true) => {
        scheduler.after(travelTime() + delay, () => {
          if (scheduler.now - since > SLOW_MS && slow === 0 && !isStalled) fault("slow");
          if (!isHeard(call, trip)) return;
          if (call !== undefined && isAnswer) witness.getsAnswer(call, home.name);
          call?.knows.set(home.name, Math.max(turn, call.knows.get(home.name) ?? 0));
          settle();
        });
      };
      // A lost connection is no answer of the home.
      const fail = (message: string) => deliver(() => reject(new Error(message)), 0, message !== TRANSIENT);
      const disconnect = () => {
        fault("disconnected", { detail: ` ${disconnects} its work`, isTransient: true });
        fail(DISCONNECTED);
      };
      const doWork = () => {
        turn = home.turn;
        if (call !== undefined) call.doing = { knows };
        return work();
      };
      const comeBack = (result: T) => {
        if (disconnects === "after") return disconnect();
        const isLost = call?.losesAnswer === true;
        if (!faults.lostAfter && !isLost) return pass("back", () => deliver(() => resolve(result), back));
        if (call !== undefined) call.losesAnswer = false;
        const words = failsAtOnce && !isLost ? chance.one([TRANSIENT, TRANSIENT, ...REFUSALS]) : undefined;
        const what = words === undefined ? "answer lost in silence" : "answer lost";
        fault(what, { isTransient: words === TRANSIENT });
        if (words !== undefined) fail(words);
      };
      const refuse = (error: unknown) => {
        if (/reset because/.test(String(error))) fault("restarted", { isTransient: true });
        deliver(() => reject(error));
      };
      const wait = () => {
        isStalled = true;
        fault("stalled, in silence");
        home.waiting.push(() => {
          if (call?.alive && !call.isOver) witness.note(call, `D1 ${home.name} ${name}: reset`, "D1: reset");
          fail(STALL_RESET);
        });
        // The work may be done although the call fails at the reset.
        if (chance.happens(0.5)) home.take(call, doWork, ignore, ignore);
      };
      if (faults.lostBefore) {
        fault(failsAtOnce ? "request lost" : "request lost in silence", { isTransient: failsAtOnce });
        if (failsAtOnce) fail(TRANSIENT);
        return;
      }
      scheduler.after(travelTime() + out, () => {
        const { state } = home;
        if (state === "refusing" || state === "silent") fault(`down, ${state}`);
        else if (faults.refused) fault("refused");
        if (state === "silent") return;
        if (state === "refusing" || faults.refused) return fail(chance.one(REFUSALS));
        if (state === "stalled") return wait();
        // A restart closes the connection. Otherwise a call that is held for long could be done after a restore.
        if (heldMs > 0 && since < home.restartedAt) return fail(RESTARTED);
        if (disconnects === "before") return disconnect();
        pass("there", () => home.take(call, doWork, comeBack, refuse));
      });
    });
  };
}
