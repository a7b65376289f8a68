import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from "vitest";
import { readBytes } from "../../../src/core/http/read-body.ts";
import { runtimeAt } from "../../support/test-runtime.ts";
import { ADMIN_TOKEN, NOW, World } from "../../support/world.ts";

let errorLog: MockInstance;
beforeEach(() => {
  errorLog = vi.spyOn(console, "error").mockImplementation(() => {});
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const FORM = { "content-type": "application/x-www-form-urlencoded", origin: "https://worker" };
const JSON_TYPE = { "content-type": "application/json" };
const BEARER = { ...JSON_TYPE, authorization: `Bearer ${ADMIN_TOKEN}` };

/** Every surface that reads a body: its address, its headers, and its limit in bytes. */
const SURFACES: [string, { path: string; headers: Record<string, string>; most: number }][] = [
  ["the sign-in form", { path: "/console/sign-in", headers: FORM, most: 260 * 1024 }],
  ["the choice of language", { path: "/console/language", headers: FORM, most: 260 * 1024 }],
  [
    "a form of the console, sent by nobody who is signed in",
    { path: "/console/sites", headers: FORM, most: 260 * 1024 },
  ],
  ["a call of the admin API", { path: "/admin/sites", headers: BEARER, most: 64 * 1024 }],
  ["a call of the admin API that needs no body", { path: "/admin/apps/x/rotate", headers: BEARER, most: 64 * 1024 }],
  ["a signed call", { path: "/openapi/chat/create_gd", headers: JSON_TYPE, most: 64 * 1024 }],
];

/** A body that gives `first` bytes, or a thousand at a time without end, and then hangs; `bytes` is the number of bytes read. */
function upload(first?: number) {
  const state = { bytes: 0, cancelled: false };
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (first !== undefined && state.bytes >= first) return new Promise(() => {});
        const chunk = new Uint8Array(first ?? 1_000).fill(0x61);
        state.bytes += chunk.length;
        controller.enqueue(chunk);
        return undefined;
      },
      cancel() {
        state.cancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { body, state };
}

const post = (world: World, path: string, headers: Record<string, string>, body: BodyInit) =>
  world.fetch(new Request(`https://worker${path}`, { method: "POST", headers, body }));

describe.each(SURFACES)("%s", (_, { path, headers, most }) => {
  it("an endless upload is read only up to its limit, and the rest is cancelled", async () => {
    const world = await World.create();
    const { body, state } = upload();
    expect((await post(world, path, headers, body)).status).toBe(413);
    expect(state.bytes).toBeLessThanOrEqual(most + 1_000);
    expect(state.cancelled).toBe(true);
    expect(errorLog).not.toHaveBeenCalled();
  });

  it("a body whose announced length is too long is not read at all", async () => {
    const world = await World.create();
    const { body, state } = upload();
    const answer = await post(world, path, { ...headers, "content-length": String(most + 1) }, body);
    expect([answer.status, state.bytes]).toEqual([413, 0]);
  });

  it.each<[string, Record<string, string>]>([
    ["", {}],
    ["that says how long it is", { "content-length": "1000" }],
  ])("a slow upload %s ends after 5 s as the sender's fault, and writes nothing", async (_, lengthHeader) => {
    const world = await World.create();
    const before = [await world.stored(), await world.operated()];
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
    const { body, state } = upload(10);
    const answer = post(world, path, { ...headers, ...lengthHeader }, body);
    let isAnswered = false;
    void answer.then(() => {
      isAnswered = true;
    });
    for (let i = 0; i < 2_000 && state.bytes === 0; i++) await scheduler.wait(2);
    await vi.advanceTimersByTimeAsync(4_900);
    await scheduler.wait(20);
    expect(isAnswered).toBe(false);
    await vi.advanceTimersByTimeAsync(200);
    expect((await answer).status).toBe(400);
    vi.useRealTimers();
    expect([await world.stored(), await world.operated()]).toEqual(before);
    expect(errorLog).not.toHaveBeenCalled();
    // The runtime reads a body of known length itself, and ends it with the request.
    if (lengthHeader["content-length"] === undefined) expect(state.cancelled).toBe(true);
  });

  it("an upload that is cut off is the sender's fault and no outage", async () => {
    const world = await World.create();
    const body = new ReadableStream({
      pull(controller) {
        controller.error(new Error("Network connection lost."));
      },
    });
    expect((await post(world, path, headers, body)).status).toBe(400);
    expect(errorLog).not.toHaveBeenCalled();
  });
});

describe("the reader of bodies", () => {
  const request = (body: ReadableStream<Uint8Array>) => new Request("https://worker/", { method: "POST", body });

  it("the reader of bodies takes memory as bytes arrive, not for the whole limit at once", async () => {
    const sizes: number[] = [];
    const Real = ArrayBuffer;
    const { body, state } = upload(10);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
    for (const name of ["ArrayBuffer", "Uint8Array"] as const) {
      const real = globalThis[name] as unknown as new (...args: unknown[]) => ArrayBufferLike;
      vi.stubGlobal(
        name,
        new Proxy(real, {
          construct(target, args) {
            if (typeof args[0] === "number") sizes.push(args[0]);
            return new target(...args);
          },
        }),
      );
    }
    const transfer = vi.spyOn(Real.prototype, "transfer");
    const reading = readBytes(
      runtimeAt(() => NOW * 1000),
      request(body),
      260 * 1024,
    );
    reading.catch(() => {});
    for (let i = 0; i < 2_000 && state.bytes === 0; i++) await scheduler.wait(2);
    await vi.advanceTimersByTimeAsync(5_100);
    vi.unstubAllGlobals();
    await expect(reading).rejects.toMatchObject({ context: { reason: "body_too_slow" } });
    sizes.push(...transfer.mock.calls.map(([length]) => length ?? 0));
    expect(Math.max(...sizes)).toBeLessThan(8 * 1024);
  });

  it.each([0, 1, 4_095, 4_096, 4_097, 100_000, 260 * 1024])(
    "the reader of bodies gives all of %d bytes, in chunks of any size",
    async (length) => {
      const bytes = crypto.getRandomValues(new Uint8Array(Math.min(length, 60_000)));
      const whole = new Uint8Array(length).map((_, i) => bytes[i % bytes.length] ?? 0);
      let at = 0;
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          if (at === length) return controller.close();
          const next = Math.min(length, at + 1 + (at % 7_919));
          controller.enqueue(whole.slice(at, next));
          at = next;
        },
      });
      const data = await readBytes(
        runtimeAt(() => NOW * 1000),
        request(body),
        260 * 1024,
      );
      // toEqual would take seconds for so many bytes.
      expect([data.byteLength, new Uint8Array(data).findIndex((byte, i) => byte !== whole[i])]).toEqual([length, -1]);
    },
  );
});
