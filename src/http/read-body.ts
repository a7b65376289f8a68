import { ServiceError } from "../errors.ts";
import { MAX_BODY_BYTES } from "../parse-json.ts";

const JSON_MEDIA_TYPE = /^application\/json[ \t]*(;|$)/i;

/**
 * The body's bytes, exactly as they came: what a signature is over.
 *
 * @throws ServiceError `media_type_unsupported`, or `body_too_large` as soon as the limit is passed, however long the body would go on
 */
export async function readBody(request: Request): Promise<ArrayBuffer> {
  requireJson(request);
  const announced = request.headers.get("content-length");
  if (announced !== null) {
    if (Number(announced) > MAX_BODY_BYTES) throw tooLarge(MAX_BODY_BYTES);
    // The runtime holds a body to the length it announced.
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

/** @throws ServiceError `body_too_large` as soon as there are more than `most` bytes */
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

/** A body that ends before its time is the caller's fault, though the runtime words it like an outage. */
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
