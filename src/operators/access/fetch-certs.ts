import type { JSONWebKeySet } from "jose";
import { type Runtime, withinTime } from "../../core/runtime.ts";

/** How long the whole answer may take. */
export const FETCH_LIMIT_MS = 3_000;

/** A team has two keys, of about 2 KB together. */
const MOST_BYTES = 64 * 1024;

/** Why no keys came. The message is our own: it holds nothing of the answer. */
export class CertsFault extends Error {
  override readonly name = "CertsFault";
}

/**
 * Fetches the public keys of a team.
 *
 * @throws CertsFault unless a JSON object with keys came in time, from this address itself
 */
export async function fetchCerts(runtime: Runtime, url: string): Promise<JSONWebKeySet> {
  const abort = new AbortController();
  try {
    return await withinTime(
      runtime,
      FETCH_LIMIT_MS,
      () => readCerts(url, abort.signal),
      () => {
        throw new CertsFault(`no answer in ${FETCH_LIMIT_MS / 1000} s`);
      },
    );
  } catch (error) {
    throw error instanceof CertsFault ? error : new CertsFault("no connection");
  } finally {
    // Ends the connection, also when the answer is too long or late.
    abort.abort();
  }
}

async function readCerts(url: string, signal: AbortSignal): Promise<JSONWebKeySet> {
  // A redirect is not followed and is a fault: keys of another address are not the team's.
  const response = await fetch(url, { headers: { accept: "application/json" }, redirect: "manual", signal });
  if (response.status !== 200) throw new CertsFault(`status ${response.status}`);
  const text = await boundedText(response);
  if (text === undefined) throw new CertsFault(`more than ${MOST_BYTES / 1024} KiB`);
  const certs = parseText(text);
  if (!hasKeys(certs)) throw new CertsFault("no JSON object with keys");
  return certs;
}

async function boundedText({ body }: Response): Promise<string | undefined> {
  const reader = body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  while (reader !== undefined) {
    const { done, value } = await reader.read();
    if (done) break;
    bytes += value.length;
    if (bytes > MOST_BYTES) return undefined;
    text += decoder.decode(value, { stream: true });
  }
  return text + decoder.decode();
}

function parseText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function hasKeys(certs: unknown): certs is JSONWebKeySet {
  if (typeof certs !== "object" || certs === null || !("keys" in certs) || !Array.isArray(certs.keys)) return false;
  return certs.keys.some(isRsaKey);
}

const isRsaKey = (key: unknown): boolean => {
  const { kty, kid, n, e } = (key ?? {}) as Record<string, unknown>;
  return kty === "RSA" && [kid, n, e].every((part) => typeof part === "string" && part !== "");
};
