import { describe, expect, it } from "vitest";
import { problem, read } from "../support/admin-calls.ts";
import { ConsoleVisitor } from "../support/console-visitor.ts";
import { World } from "../support/world.ts";

describe("a path that is no route", () => {
  it("is one also for a slash at its end: a call has one address", async () => {
    const world = await World.create();
    const signed = await world.send("create_gd/" as "create_gd", world.createBody());
    expect([signed.status, signed.envelope.msg]).toEqual([404, "接口不存在"]);
    expect(await world.stored()).toMatchObject({ sessions: [], nonces: [] });
    const { status, body } = await read(await world.admin("POST", "/admin/sites/", { name: "Another" }));
    expect({ status, body }).toEqual(problem(404, "Not found"));
  });

  it("is answered in the form of the face that it lies in", async () => {
    const world = await World.create();
    const visitor = await ConsoleVisitor.signedIn(world);
    const outside = await world.fetch(new Request("http://worker/nowhere"));
    expect([outside.status, await outside.json()]).toEqual([404, { code: -1, msg: "接口不存在", data: "" }]);
    const { status, body } = await read(await world.admin("GET", "/admin/nowhere"));
    expect({ status, body }).toEqual(problem(404, "Not found"));
    const page = await visitor.get("/console/nowhere");
    expect([page.status, await page.text()]).toEqual([404, expect.stringContaining("There is no such page")]);
  });
});
