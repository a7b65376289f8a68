import { ServiceError } from "../errors.ts";
import { isJsonMediaType, MAX_BODY_BYTES, withoutParameters } from "../parse-json.ts";
import type { Violation } from "../rules.ts";
import { type Runtime, withinTime } from "../runtime.ts";

/** A body must arrive within this time. An operator's call has a longer limit, so that a slow sender does not look like a silent database. */
export const ARRIVAL_LIMIT_MS = 5_000;

/** The size of the first buffer for a body. A full buffer doubles, so a sender that announces much and sends nothing takes little memory. */
const FIRST_BYTES = 4 * 1024;

/**
 * Reads the body's bytes exactly as received: the signature is over these bytes.
 *
 * @throws ServiceError `media_type_unsupported`; and as {@link readBytes} does
 */
export async function readBody(runtime: Runtime, request: Request): Promise<ArrayBuffer> {
  requireJson(request);
  if (!request.headers.has("content-length")) return readBytes(runtime, request);
  refuseAnnounced(request, MAX_BODY_BYTES);
  // A body with a length needs no limit here: the runtime reads no more bytes than announced.
  return bodyInTime(runtime, () => request.arrayBuffer());
}

/** @throws ServiceError `media_type_unsupported` */
export function requireJson({ headers }: Request): void {
  const type = headers.get("content-type") ?? "";
  if (!isJsonMediaType(type)) {
    throw new ServiceError("media_type_unsupported", {
      reason: "content_type_not_json",
      violations: [{ field: "Content-Type", ...notJson(type) }],
      tellViolations: true,
    });
  }
  if (headers.has("content-encoding")) {
    throw new ServiceError("media_type_unsupported", {
      reason: "content_encoding_present",
      violations: [{ field: "Content-Encoding", rule: "absent" }],
      tellViolations: true,
    });
  }
}

/** The rule that a wrong Content-Type breaks. Its media types are quoted only when a header can hold them and a person can read them. */
function notJson(contentType: string): Violation {
  const types = withoutParameters(contentType);
  if (types === "") return { rule: "json_type_missing" };
  const isReadable = /^[\x20-\x7e]{1,80}$/.test(types);
  return isReadable ? { rule: "json_type", values: [types] } : { rule: "json_type_unreadable" };
}

/**
 * Reads a body of any media type.
 *
 * @param most the most bytes that the body may have
 * @throws ServiceError `body_too_large` without reading the rest; `invalid_parameters` when the body ends early or takes too long
 */
export async function readBytes(runtime: Runtime, request: Request, most = MAX_BODY_BYTES): Promise<ArrayBuffer> {
  refuseAnnounced(request, most);
  if (request.body === null) return new ArrayBuffer(0);
  const reader = request.body.getReader();
  try {
    return await bodyInTime(runtime, () => readChunks(reader, most));
  } catch (error) {
    // cancel() is not awaited: with a sender that never ends the body, it may never end either.
    reader.cancel().catch(() => {});
    throw error;
  }
}

async function readChunks(reader: ReadableStreamDefaultReader<Uint8Array>, most: number): Promise<ArrayBuffer> {
  let bytes = new Uint8Array(FIRST_BYTES);
  let length = 0;
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    const neededBytes = length + chunk.value.length;
    if (neededBytes > most) throw tooLarge(most);
    if (neededBytes > bytes.length) {
      const size = Math.max(neededBytes, Math.min(most, 2 * bytes.length));
      bytes = new Uint8Array(bytes.buffer.transfer(size));
    }
    bytes.set(chunk.value, length);
    length = neededBytes;
  }
  return bytes.buffer.slice(0, length);
}

function refuseAnnounced({ headers }: Request, most: number): void {
  if (Number(headers.get("content-length")) > most) throw tooLarge(most);
}

/** Turns the runtime's error for a body that ended early into a refusal. The error looks like an outage, but the caller cut the body off. */
async function bodyInTime(runtime: Runtime, read: () => Promise<ArrayBuffer>): Promise<ArrayBuffer> {
  try {
    return await withinTime(runtime, ARRIVAL_LIMIT_MS, read, () => {
      throw unreadableBody("body_too_slow", { rule: "within_seconds", values: [ARRIVAL_LIMIT_MS / 1000] });
    });
  } catch (error) {
    throw error instanceof ServiceError ? error : unreadableBody("body_cut_off", { rule: "whole" });
  }
}

const unreadableBody = (reason: string, broken: Violation) =>
  new ServiceError("invalid_parameters", { reason, violations: [{ field: "body", ...broken }], tellViolations: true });

const tooLarge = (most: number) =>
  new ServiceError("body_too_large", {
    reason: "body_too_large",
    violations: [{ field: "body", rule: "bytes_at_most", values: [most] }],
    tellViolations: true,
  });
