import { beforeAll, describe, expect, it } from "vitest";
import type { Declaration } from "../../../src/operators/http/call.ts";
import type { Actor } from "../../../src/operators/store/audit.ts";
import type { Sample } from "../../support/admin-calls.ts";
import { databaseOf } from "../../support/homes.ts";
import { tablesOf } from "../../support/read-store.ts";
import type { World } from "../../support/world.ts";

/** The admin API or the console, and how to make its calls. */
interface Surface<Each extends Declaration> {
  actor: Actor;
  calls: readonly Each[];
  /** At least one sample. Together the samples write every audit row that the call declares. */
  samplesOf: (call: Each) => readonly Sample[];
  /** Makes a new site with everything that the samples need. */
  prepare: () => Promise<World>;
  pathOf: (call: Each, world: World, parameters?: Record<string, string>) => string;
  send: (world: World, call: Each, path: string, sample: Sample) => Promise<Response>;
  sendUnsigned: (world: World, call: Each, path: string) => Promise<Response>;
}

const HOMES = ["main", "apac"];

/** Makes every call of the API or the console, and checks that it does what it declares. */
export function walk<Each extends Declaration>(name: string, surface: Surface<Each>): void {
  const { calls, samplesOf, prepare, pathOf, send, sendUnsigned } = surface;
  const cases = calls.map((call) => ({ title: `${call.method.toUpperCase()} ${call.path}`, call }));
  const signInCases = cases.filter(({ call }) => call.role !== "anyone");
  const aboutOne = cases.filter(({ call }) => call.scope === "site" || call.scope === "app");

  describe(`every call of ${name}`, () => {
    /** For calls that change nothing. */
    let shared: World;
    beforeAll(async () => {
      shared = await prepare();
    });

    it(`every call of ${name} that needs a sign-in is refused without one and changes nothing`, async () => {
      const readTables = () => Promise.all(HOMES.map((home) => tablesOf(databaseOf(home))));
      const before = await readTables();
      for (const { title, call } of signInCases) {
        const { status } = await sendUnsigned(shared, call, pathOf(call, shared));
        expect([title, status]).toEqual([title, expect.toBeOneOf([401, 303])]);
      }
      expect(await readTables()).toEqual(before);
    });

    it(`every call of ${name} is 404 for an unknown site or app and leaves no audit row`, async () => {
      const before = await newestRows();
      for (const { title, call } of aboutOne) {
        const path = pathOf(call, shared, { site_id: "987654321", appid: "nobodys" });
        for (const sample of samplesOf(call)) {
          expect([title, (await send(shared, call, path, sample)).status]).toEqual([title, 404]);
        }
      }
      expect(await rowsAfter(before)).toEqual([]);
    });

    it(`every call of ${name} is 400 for a parameter that is given twice, and changes nothing`, async () => {
      const before = await newestRows();
      for (const { title, call } of cases) {
        const path = `${pathOf(call, shared)}?limit=1&l%69mit=1`;
        for (const sample of samplesOf(call)) {
          const answer = await send(shared, call, path, sample);
          expect([title, answer.status]).toEqual([title, 400]);
          expect([title, (await answer.text()).includes("limit")]).toEqual([title, true]);
        }
      }
      expect(await rowsAfter(before)).toEqual([]);
    });

    it.each(cases)("the call $title leaves exactly the audit rows that it declares", async ({ call }) => {
      const actions = new Set<string>();
      const samples = samplesOf(call);
      const changes = call.method !== "get" && call.audit.length > 0;
      const world = changes || samples.some(({ before }) => before !== undefined) ? await prepare() : shared;
      for (const sample of samples) {
        await sample.before?.(world);
        const before = await newestRows();
        const isolate = sample.bindings === undefined ? world : world.anotherIsolate(sample.bindings);
        const { status } = await send(isolate, call, pathOf(call, world), sample);
        expect(status).toEqual(sample.status ?? expect.toSatisfy((each: number) => each < 400));
        for (const { actor, action } of await rowsAfter(before)) {
          expect([actor, action]).toEqual([surface.actor, expect.toBeOneOf<string>([...call.audit])]);
          actions.add(action);
        }
      }
      expect([...actions].sort()).toEqual([...call.audit].sort());
    });
  });
}

/** The id of the newest audit row in each home. */
const newestRows = () =>
  Promise.all(
    HOMES.map((home) =>
      databaseOf(home).prepare("SELECT coalesce(max(id), 0) AS id FROM audit_log").first<number>("id"),
    ),
  );

/** The audit rows after these ids, without the root's hourly row, which any read may write. */
async function rowsAfter(newest: (number | null)[]): Promise<{ actor: string; action: string }[]> {
  const rows = await Promise.all(
    HOMES.map((home, at) =>
      databaseOf(home)
        .prepare("SELECT actor, action FROM audit_log WHERE id > ? AND action <> 'root.read' ORDER BY id")
        .bind(newest[at] ?? 0)
        .all<{ actor: string; action: string }>(),
    ),
  );
  return rows.flatMap(({ results }) => results);
}
