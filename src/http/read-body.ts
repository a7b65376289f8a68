import { ServiceError } from "../errors.ts";
import { MAX_BODY_BYTES } from "../parse-json.ts";

const JSON_MEDIA_TYPE = /^application\/json[ \t]*(;|$)/i;

/**
 * Reads the body's bytes exactly as received, because the signature covers them.
 *
 * @throws ServiceError `media_type_unsupported`; `body_too_large` without reading the rest; `invalid_parameters` when the body ends early
 */
export async function readBody(request: Request): Promise<ArrayBuffer> {
  requireJson(request);
  const announced = request.headers.get("content-length");
  if (announced !== null) {
    if (Number(announced) > MAX_BODY_BYTES) throw tooLarge(MAX_BODY_BYTES);
    // The runtime reads no more bytes than the announced length.
    return whole(() => request.arrayBuffer());
  }
  return whole(() => readChunks(request.body));
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

/** Reads a body of at most `most` bytes. @throws ServiceError `body_too_large` without reading the rest */
export async function readChunks(
  body: ReadableStream<Uint8Array> | null,
  most: number = MAX_BODY_BYTES,
): Promise<ArrayBuffer> {
  const bytes = new Uint8Array(most);
  let length = 0;
  if (body !== null) {
    const reader = body.getReader();
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
      if (length + chunk.value.length > most) {
        await reader.cancel();
        throw tooLarge(most);
      }
      bytes.set(chunk.value, length);
      length += chunk.value.length;
    }
  }
  return bytes.buffer.slice(0, length);
}

/** Turns the runtime's error for a body that ended early into a refusal: its words are those of an outage, but the caller cut it off. */
async function whole(read: () => Promise<ArrayBuffer>): Promise<ArrayBuffer> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw new ServiceError("invalid_parameters", {
      reason: "body_cut_off",
      detail: "body: ended before its time",
      tell: true,
    });
  }
}

const tooLarge = (most: number) =>
  new ServiceError("body_too_large", {
    reason: "body_too_large",
    detail: `body: must be at most ${most} bytes`,
    tell: true,
  });
