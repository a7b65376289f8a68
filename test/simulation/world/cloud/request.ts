import type { Chance } from "../../machine/chance.ts";
import type { WireRequest } from "../call.ts";

/** A request as the Worker gets it: its body in one piece with a Content-Length, or in chunks without one. */
export function requestOf({ method, path, headers, body }: WireRequest, chance: Chance): Request {
  const url = `https://worker.example${path}`;
  if (method === "GET" || body === "") return new Request(url, { method, headers });
  const bytes = Buffer.from(body);
  if (chance.happens(0.5)) {
    return new Request(url, { method, headers: { ...headers, "content-length": String(bytes.length) }, body });
  }
  const cut = chance.integer(0, bytes.length);
  const pieces = new ReadableStream({
    start(controller) {
      for (const piece of [bytes.subarray(0, cut), bytes.subarray(cut)]) {
        if (piece.length > 0) controller.enqueue(new Uint8Array(piece));
      }
      controller.close();
    },
  });
  return new Request(url, { method, headers, body: pieces, duplex: "half" } as RequestInit);
}
