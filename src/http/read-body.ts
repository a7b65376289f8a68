import { ServiceError } from "../errors.ts";
import { MAX_BODY_BYTES } from "../parse-json.ts";
import { type Runtime, withinTime } from "../runtime.ts";

/** A body must have arrived after this time. Less than an operator's call may take: a slow sender must not look like a silent database. */
const ARRIVAL_LIMIT_MS = 5_000;

/** The memory that a body begins with. It doubles when it is full: who sends nothing, or says that much will come, gets no more. */
const FIRST_BYTES = 4 * 1024;

const JSON_MEDIA_TYPE = /^application\/json[ \t]*(;|$)/i;

/**
 * Reads the body's bytes exactly as received, because the signature covers them.
 *
 * @throws ServiceError `media_type_unsupported`; otherwise as {@link readBytes} does
 */
export async function readBody(runtime: Runtime, request: Request): Promise<ArrayBuffer> {
  requireJson(request);
  if (!request.headers.has("content-length")) return readBytes(runtime, request);
  refuseAnnounced(request, MAX_BODY_BYTES);
  // The runtime reads no more bytes than the announced length.
  return arrived(runtime, () => request.arrayBuffer());
}

/** @throws ServiceError `media_type_unsupported` */
export function requireJson({ headers }: Request): void {
  if (!JSON_MEDIA_TYPE.test(headers.get("content-type") ?? "")) {
    throw new ServiceError("media_type_unsupported", {
      reason: "content_type_not_json",
      detail: "Content-Type: must be application/json",
      tell: true,
    });
  }
  if (headers.has("content-encoding")) {
    throw new ServiceError("media_type_unsupported", {
      reason: "content_encoding_present",
      detail: "Content-Encoding: must be absent",
      tell: true,
    });
  }
}

/**
 * Reads a body of any media type.
 *
 * @param most bytes that it may have
 * @throws ServiceError `body_too_large` without reading the rest; `invalid_parameters` when the body ends early or takes too long
 */
export async function readBytes(runtime: Runtime, request: Request, most = MAX_BODY_BYTES): Promise<ArrayBuffer> {
  refuseAnnounced(request, most);
  if (request.body === null) return new ArrayBuffer(0);
  const reader = request.body.getReader();
  try {
    return await arrived(runtime, () => readChunks(reader, most));
  } catch (error) {
    // Not awaited: a sender who ends nothing may not end this either.
    reader.cancel().catch(() => {});
    throw error;
  }
}

async function readChunks(reader: ReadableStreamDefaultReader<Uint8Array>, most: number): Promise<ArrayBuffer> {
  let bytes = new Uint8Array(FIRST_BYTES);
  let length = 0;
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    const needed = length + chunk.value.length;
    if (needed > most) throw tooLarge(most);
    if (needed > bytes.length) {
      const size = Math.max(needed, Math.min(most, 2 * bytes.length));
      bytes = new Uint8Array(bytes.buffer.transfer(size));
    }
    bytes.set(chunk.value, length);
    length = needed;
  }
  return bytes.buffer.slice(0, length);
}

function refuseAnnounced({ headers }: Request, most: number): void {
  if (Number(headers.get("content-length")) > most) throw tooLarge(most);
}

/** Turns the runtime's error for a body that ended early into a refusal: its words are those of an outage, but the caller cut it off. */
async function arrived(runtime: Runtime, read: () => Promise<ArrayBuffer>): Promise<ArrayBuffer> {
  try {
    return await withinTime(runtime, ARRIVAL_LIMIT_MS, read, () => {
      throw unreadable("body_too_slow", `must arrive within ${ARRIVAL_LIMIT_MS / 1000} s`);
    });
  } catch (error) {
    throw error instanceof ServiceError ? error : unreadable("body_cut_off", "ended before its time");
  }
}

const unreadable = (reason: string, rule: string) =>
  new ServiceError("invalid_parameters", { reason, detail: `body: ${rule}`, tell: true });

const tooLarge = (most: number) =>
  new ServiceError("body_too_large", {
    reason: "body_too_large",
    detail: `body: must be at most ${most} bytes`,
    tell: true,
  });
