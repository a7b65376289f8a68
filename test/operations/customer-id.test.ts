import { describe, expect, it } from "vitest";
import { expectUnwritten, INVALID_PARAMETERS } from "../support/signed-routes.ts";
import { World } from "../support/world.ts";

const digits = (count: number) => "1234567890".repeat(7).slice(0, count);

/** A create_gd body with this exact spelling of sbs. */
function written(world: World, sbs: string): string {
  return JSON.stringify(world.createBody({ sbs: "@" })).replace('"sbs":"@"', `"sbs":${sbs}`);
}

describe("sbs of create_gd", () => {
  it.each([
    ["1001", "1001"],
    ['"1001"', "1001"],
    ["0", "0"],
    ["-0", "-0"],
    ["-5", "-5"],
    ["9007199254740993", "9007199254740993"],
    ["12345678901234567890", "12345678901234567890"],
    ["-12345678901234567890", "-12345678901234567890"],
    [digits(64), digits(64)],
    [`-${digits(63)}`, `-${digits(63)}`],
    ['"007"', "007"],
    ['"1.0"', "1.0"],
    ['"\\u0031\\u0030"', "10"],
    [' 42,"sbs_mc":"Customer Name"', "42"],
  ])("written as %s is the customer %s", async (sbs, externalId) => {
    const world = await World.create();
    expect((await world.send("create_gd", written(world, sbs))).status).toBe(200);
    expect((await world.stored()).customers).toMatchObject([{ external_id: externalId }]);
  });

  it.each([
    "1.0",
    "-1.0",
    "0.5",
    "1e3",
    "1E3",
    "1e+3",
    "1e-3",
    "1e400",
    digits(65),
    `-${digits(64)}`,
    "true",
    "null",
    "{}",
    "[1001]",
  ])("written as %s is 参数错误", async (sbs) => {
    const world = await World.create();
    const { status, envelope, headers } = await expectUnwritten(world, () =>
      world.send("create_gd", written(world, sbs)),
    );
    expect({ status, envelope }).toEqual({ status: 400, envelope: INVALID_PARAMETERS });
    expect(headers.get("x-error-detail")).toBe(
      "sbs: must be a string of 1 to 64 characters, or an integer of 1 to 64 digits",
    );
  });

  it.each(["1001", '"1001"', "9007199254740993"])(
    "written as %s is read beside an unknown field that is nested 5,000 deep",
    async (sbs) => {
      const world = await World.create();
      const deep = `${"[".repeat(5_000)}${"]".repeat(5_000)}`;
      const body = written(world, sbs).replace(/}$/, `,"extra":${deep},"also":{"sbs":7}}`);
      expect((await world.send("create_gd", body)).status).toBe(200);
      expect((await world.stored()).customers).toMatchObject([{ external_id: sbs.replaceAll('"', "") }]);
    },
  );

  it.each([
    ['1,"sbs":12345678901234567890', "12345678901234567890"],
    ['"one","sbs":2', "2"],
    ['1,"s\\u0062s":9007199254740993', "9007199254740993"],
    ['7,"x":[{"sbs":1}],"y":"\\"sbs\\":2","z":{"sbs":{"sbs":3}}', "7"],
    ['[3] ,\n\t"sbs" : 4 ', "4"],
  ])("is the last top-level one, as in JSON: %s", async (sbs, externalId) => {
    const world = await World.create();
    expect((await world.send("create_gd", written(world, sbs))).status).toBe(200);
    expect((await world.stored()).customers).toMatchObject([{ external_id: externalId }]);
  });

  it.each(["007", "+1", ".5", "1.", "0x10", "NaN", "Infinity"])("written as %s is no JSON", async (sbs) => {
    const world = await World.create();
    const { status, headers } = await expectUnwritten(world, () => world.send("create_gd", written(world, sbs)));
    expect([status, headers.get("x-error-detail")]).toEqual([400, "body: must be JSON"]);
  });

  it("as a number and as the same digits in a string is one customer, and every other spelling is another", async () => {
    const world = await World.create();
    for (const sbs of ["1001", '"1001"', '"01001"', '"1001 "', '"１００１"', "10010"]) {
      expect((await world.send("create_gd", written(world, sbs))).status).toBe(200);
    }
    const { customers, sessions } = await world.stored();
    expect(new Set(customers.map((customer) => customer.external_id))).toEqual(
      new Set(["1001", "01001", "1001 ", "１００１", "10010"]),
    );
    expect(customers).toHaveLength(5);
    expect(sessions).toHaveLength(6);
  });

  it("distinguishes customers by case and by Unicode composition", async () => {
    const world = await World.create();
    for (const sbs of ["Ab", "aB", "é", "e\u0301"]) await world.chatId({ sbs });
    expect((await world.stored()).customers).toHaveLength(4);
  });

  it.each([
    ["the last of two", '"a","sbs":5', "5"],
    ["the last of two numbers, digit for digit", '1,"sbs":12345678901234567890', "12345678901234567890"],
    ["the last of a number and a string", '1.0,"sbs":"a"', "a"],
    ["not one of a nested object of that name", '7,"x":{"sbs":1.5,"y":[{"sbs":"z"}]}', "7"],
    ["not one after it of a nested object", '12345678901234567890,"x":{"sbs":{"sbs":3}}', "12345678901234567890"],
  ])("is %s", async (_, sbs, externalId) => {
    const world = await World.create();
    expect((await world.send("create_gd", written(world, sbs))).status).toBe(200);
    expect((await world.stored()).customers).toMatchObject([{ external_id: externalId }]);
  });

  it.each(["appid", "ranstr", "content", "title"])(
    "is the only text field that accepts a number: %s does not",
    async (field) => {
      const world = await World.create();
      const { status } = await expectUnwritten(world, () => world.create({ sbs: 1001, [field]: 1001 }));
      expect(status).toBe(400);
    },
  );
});
