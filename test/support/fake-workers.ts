import { randomUUID } from "node:crypto";
import { failure, type Reply } from "./fake-api.ts";

export interface FakeWorker {
  secrets: Set<string>;
  /** The secrets' values, which the real API never returns. */
  secretValues: Map<string, string>;
  /** The bindings of each upload, with inherited ones and without secrets. The first may be the empty Worker with the secrets. */
  versions: Binding[][];
  crons: string[];
  subdomain: { enabled: boolean; previews_enabled: boolean };
}

export type Binding = { name: string; type: string } & Record<string, unknown>;

export function emptyWorker(secrets: Set<string>): FakeWorker {
  return {
    secrets,
    secretValues: new Map(),
    versions: [[]],
    crons: [],
    subdomain: { enabled: false, previews_enabled: false },
  };
}

export const bindingsOf = ({ versions, secrets }: FakeWorker): Binding[] => [
  ...(versions.at(-1) ?? []),
  ...[...secrets].map((name) => ({ name, type: "secret_text" })),
];

/** Stores a version as strictly as the real API: a binding can inherit only from an earlier one, and only kept types stay. */
export function uploadWorker(worker: FakeWorker, { bindings, keep_bindings: keep = [] }: Metadata): Reply {
  const before = bindingsOf(worker);
  const resolvedBindings = bindings.map((binding) =>
    binding.type === "inherit" ? before.find(({ name }) => name === binding.name) : binding,
  );
  const missing = bindings.find((_, index) => resolvedBindings[index] === undefined);
  if (missing !== undefined)
    return failure(400, 10057, `inherit binding '${missing.name}' is invalid: nothing to inherit`);
  const keptBindings = before.filter(
    ({ name, type }) => keep.includes(type) && !bindings.some((each) => each.name === name),
  );
  storeBindings(worker, [...resolvedBindings.filter((binding) => binding !== undefined), ...keptBindings]);
  const id = randomUUID();
  return {
    result: { id, deployment_id: id, etag: "etag", startup_time_ms: 1, resources: { script: { etag: "etag" } } },
  };
}

function storeBindings(worker: FakeWorker, bindings: Binding[]): void {
  worker.versions.push(bindings.filter(({ type }) => type !== "secret_text"));
  worker.secrets = new Set(bindings.filter(({ type }) => type === "secret_text").map(({ name }) => name));
}

export function setSecrets(worker: FakeWorker, secrets: { name: string; text: string }[]): Reply {
  for (const { name, text } of secrets) {
    const isTaken = worker.versions.at(-1)?.some((each) => each.name === name);
    if (isTaken) return failure(400, 10053, `Binding name '${name}' already in use.`);
    worker.secrets.add(name);
    worker.secretValues.set(name, text);
  }
  return { result: {} };
}

/** Makes a new version of the same code. The list is complete; an entry with only name and type keeps its previous value. */
export function patchBindings(worker: FakeWorker, bindings: Binding[]): Reply {
  const before = bindingsOf(worker);
  const patchedBindings = bindings.map((binding) =>
    Object.keys(binding).length > 2 ? binding : before.find(({ name }) => name === binding.name),
  );
  if (patchedBindings.includes(undefined)) return failure(400, 10057, "a binding is invalid: nothing to inherit");
  storeBindings(
    worker,
    patchedBindings.filter((binding) => binding !== undefined),
  );
  return { result: { bindings: bindingsOf(worker) } };
}

/** The bindings of an upload, and the types of earlier bindings that stay without being named. */
export interface Metadata {
  bindings: Binding[];
  keep_bindings?: string[];
}
