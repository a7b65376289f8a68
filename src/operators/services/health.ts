import type { Config } from "../../config.ts";
import { MAIN_HOME } from "../../core/homes.ts";
import { databaseFault } from "../../core/store/run-batch.ts";
import { countSitesByHome } from "../store/directory/sites.ts";
import { probeHome } from "../store/home/probe.ts";
import { inItsTurn, inTurns } from "./ask-homes.ts";
import { masterKeyState } from "./master-key.ts";
import type { KeyringTools } from "./service-context.ts";

/** The bindings beside the databases. Each is a part, so that an operator who leaves out one on purpose still sees another that is lost. */
export const BINDINGS = ["nonces", "credentials", "events", "journal"] as const;
/** The parts of a deployment beside its databases. */
export const PARTS = [...BINDINGS, "master_key"] as const;

/** `off`: a binding is missing, as on Workers Free; for `master_key`: nothing is sealed yet. */
export const PART_STATES = ["ok", "off", "down"] as const;
export type PartState = (typeof PART_STATES)[number];
export type PartStates = Record<(typeof PARTS)[number], PartState>;

/** What can be wrong with a home. `not_migrated`: it lacks a table or a column of this release. */
export type HomeTrouble = "unbound" | "not_migrated" | "silent" | "closed";

export interface Health {
  status: "ok" | "degraded" | "down";
  directory: "ok" | "down";
  /** By the name of the home: those that are bound, `main` first, and those that sites name although they are not. */
  homes: Record<string, "ok" | HomeTrouble>;
  parts: PartStates;
  /** Whether the master keys do not open what is sealed. False when only the directory did not answer. */
  isKeyWrong: boolean;
}

type HealthTools = Pick<KeyringTools, "runtime" | "config" | "credentials">;

/** Milliseconds for one answer, counted from the start of its call. */
const TURN_MS = 2_000;

interface Probe {
  /** The name of a part, or `home NAME`. */
  name: string;
  call: (answerBy: number) => Promise<PartState>;
}

interface Answer {
  state: PartState;
  error?: unknown;
}

/**
 * Asks everything, five at a time, the directory first. Closed homes are not asked. The directory is asked also while `main` is closed.
 *
 * @param allMs milliseconds for all answers: what was not asked by then is `down`
 * @param only  the one home that is asked and named beside the directory
 */
export async function readHealth(ctx: HealthTools, allMs: number, only?: string): Promise<Health> {
  const { homes: bound, closedHomes } = ctx.config;
  const homeProbes = [...bound]
    .filter(([home]) => home === MAIN_HOME || ((home === only || only === undefined) && !closedHomes.has(home)))
    .map(([home, database]) => ({ name: `home ${home}`, call: async () => asOk(await probeHome(database)) }));
  let unbound: string[] = [];
  const findUnbound = async () => {
    unbound = only === undefined ? await unboundHomes(ctx) : [];
    return "ok" as const;
  };
  const probes = [
    ...homeProbes.slice(0, 1),
    ...probesOf(ctx),
    { name: "sites", call: findUnbound },
    ...homeProbes.slice(1),
  ];
  const answerOf = await askAll(ctx, probes, allMs);
  const stateOf = (home: string) => {
    if (!bound.has(home)) return "unbound";
    if (closedHomes.has(home)) return "closed";
    const { state, error } = answerOf(`home ${home}`);
    if (state === "ok") return "ok";
    return databaseFault(error)?.context.reason === "d1_not_migrated" ? "not_migrated" : "silent";
  };
  const probedHomes = only === undefined ? [...bound.keys(), ...unbound] : [only];
  const homes = probedHomes.map((home) => [home, stateOf(home)] as const);
  const directory = answerOf(`home ${MAIN_HOME}`).state === "ok" ? "ok" : "down";
  const parts = partsOf(answerOf);
  const isWhole = homes.every(([, state]) => state === "ok") && Object.values(parts).every((state) => state !== "down");
  return {
    status: directory === "down" ? "down" : isWhole ? "ok" : "degraded",
    directory,
    homes: Object.fromEntries(homes),
    parts,
    isKeyWrong: parts.master_key === "down" && answerOf("master_key").error === undefined,
  };
}

/** The health of the parts without the homes, for a scrape. It asks homes only until the canary of {@link masterKeyState} is made. */
export async function readParts(ctx: HealthTools): Promise<PartStates> {
  return partsOf(await askAll(ctx, probesOf(ctx), TURN_MS));
}

function probesOf(ctx: HealthTools): Probe[] {
  const { nonces, credentials, events, journal } = ctx.config;
  const checkIfBound = <Binding>(
    name: (typeof BINDINGS)[number],
    binding: Binding | undefined,
    ask: (bound: Binding) => Promise<unknown>,
  ) => ({
    name,
    call: async () => (binding === undefined ? "off" : asOk(await ask(binding))),
  });
  const namespace = (bound: KVNamespace) => bound.get("healthz");
  // When the runtime has no metrics(), only the binding of a queue is known.
  const queue = async (bound: Pick<Queue, "metrics">) => bound.metrics?.();
  return [
    { name: "master_key", call: (answerBy) => masterKeyState(ctx, answerBy) },
    checkIfBound("nonces", nonces, namespace),
    checkIfBound("credentials", credentials, namespace),
    checkIfBound("events", events, queue),
    checkIfBound("journal", journal, queue),
  ];
}

const unboundHomesOf = new WeakMap<Config["homes"], { at: number; homes: string[] }>();

/**
 * Homes that sites name although no database is bound for them. The result is remembered for a minute: the query reads every site, anybody
 * may cause it, and only a new deployment unbinds a home.
 */
export async function unboundHomes({
  runtime,
  config: { homes, directory },
}: Pick<KeyringTools, "runtime" | "config">): Promise<string[]> {
  const at = runtime.elapsed();
  const lastUnbound = unboundHomesOf.get(homes);
  if (lastUnbound !== undefined && at < lastUnbound.at + 60_000) return lastUnbound.homes;
  const homesOfSites = [...(await countSitesByHome(directory)).keys()];
  const unbound = { at, homes: homesOfSites.filter((home) => !homes.has(home)).sort() };
  unboundHomesOf.set(homes, unbound);
  return unbound.homes;
}

/** The homes that did not answer, and those that are not bound: the home `only`, or every home that sites name. */
export async function withUnbound(
  ctx: Pick<KeyringTools, "runtime" | "config">,
  only: string | undefined,
  silentHomes: string[],
): Promise<string[]> {
  if (only !== undefined) return ctx.config.homes.has(only) ? silentHomes : [...silentHomes, only];
  // A silent directory cannot name the unbound homes; it is itself among the homes that are down.
  return silentHomes.includes(MAIN_HOME) ? silentHomes : [...silentHomes, ...(await unboundHomes(ctx))];
}

const asOk = (_: unknown) => "ok" as const;

async function askAll({ runtime }: HealthTools, probes: Probe[], allMs: number): Promise<(name: string) => Answer> {
  const answerBy = runtime.elapsed() + allMs;
  const throwLate = () => {
    throw new Error("no answer in time");
  };
  const answers = await inTurns(probes, async ({ name, call }) => {
    try {
      return { name, state: await inItsTurn(runtime, TURN_MS, answerBy, () => call(answerBy), throwLate) };
    } catch (error) {
      return { name, state: "down" as const, error };
    }
  });
  return (askedName) => answers.find(({ name }) => name === askedName) ?? { state: "down" };
}

const partsOf = (answerOf: (name: string) => Answer) =>
  Object.fromEntries(PARTS.map((part) => [part, answerOf(part).state])) as PartStates;
