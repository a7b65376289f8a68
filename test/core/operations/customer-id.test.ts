import { beforeAll, describe, expect, it } from "vitest";
import { World } from "../../support/world.ts";
import { notA } from "../../support/wrong-type-text.ts";
import { refusedBodies } from "./refused-bodies.ts";

const digits = (count: number) => "1234567890".repeat(7).slice(0, count);

/** A create_gd body with this exact spelling of sbs. */
function bodyWith(world: World, sbs: string): string {
  return JSON.stringify(world.createBody({ sbs: "@" })).replace('"sbs":"@"', `"sbs":${sbs}`);
}

describe("sbs of create_gd", () => {
  let world: World;
  beforeAll(async () => {
    world = await World.create();
  });
  const send = refusedBodies("create_gd");

  /** Expects the body to open a session of the customer with this id. */
  async function expectCustomer(externalId: string, body: string): Promise<void> {
    const { status, envelope } = await world.send("create_gd", body);
    expect(status).toBe(200);
    const { sessions } = await world.stored();
    const { chat_id } = envelope.data as { chat_id: number };
    expect(sessions.find(({ id }) => id === chat_id)).toMatchObject({ customer_external_id: externalId });
  }

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
  ])("sbs written as %s is the customer %s", async (sbs, externalId) => {
    await expectCustomer(externalId, bodyWith(world, sbs));
  });

  it.each([
    ...["1.0", "-1.0", "0.5", "1.5", "1e3", "1E3", "1e+3", "1e-3", "1e400"].map((sbs) => [
      sbs,
      ", not with a fraction or an exponent",
    ]),
    [digits(65), ""],
    [`-${digits(64)}`, ""],
    ...["true", "null", "{}", "[1001]"].map((sbs) => [sbs, notA(JSON.parse(sbs))]),
  ])("sbs written as %s is 参数错误%s", async (sbs, slip) => {
    expect(await send((of) => bodyWith(of, sbs))).toBe(
      `sbs: must be a string of 1 to 64 characters, or an integer of 1 to 64 digits${slip}`,
    );
  });

  it.each(["1001", '"1001"', "9007199254740993"])(
    "sbs written as %s is read beside an unknown field that is nested 5,000 deep",
    async (sbs) => {
      const deep = `${"[".repeat(5_000)}${"]".repeat(5_000)}`;
      const body = bodyWith(world, sbs).replace(/}$/, `,"extra":${deep},"also":{"sbs":7}}`);
      await expectCustomer(sbs.replaceAll('"', ""), body);
    },
  );

  it.each([
    ['1,"sbs":12345678901234567890', "12345678901234567890"],
    ['"one","sbs":2', "2"],
    ['1,"s\\u0062s":9007199254740993', "9007199254740993"],
    ['7,"x":[{"sbs":1}],"y":"\\"sbs\\":2","z":{"sbs":{"sbs":3}}', "7"],
    ['[3] ,\n\t"sbs" : 4 ', "4"],
    ['1.0,"sbs":"a"', "a"],
    ['7,"x":{"sbs":1.5,"y":[{"sbs":"z"}]}', "7"],
    ['12345678901234567890,"x":{"sbs":{"sbs":3}}', "12345678901234567890"],
  ])("the last sbs at the top level counts, as in JSON: %s", async (sbs, externalId) => {
    await expectCustomer(externalId, bodyWith(world, sbs));
  });

  it.each(["007", "+1", ".5", "1.", "0x10", "NaN", "Infinity"])("sbs written as %s is no JSON", async (sbs) => {
    expect(await send((of) => bodyWith(of, sbs))).toBe(
      "body: must be JSON as a library writes it: double quotes, no comma at the end, no line break in a string",
    );
  });

  it("sbs as a number and as the same digits in a string is one customer, and other spellings are others", async () => {
    const ownWorld = await World.create();
    for (const sbs of ["1001", '"1001"', '"01001"', '"1001 "', '"１００１"', "10010"]) {
      expect((await ownWorld.send("create_gd", bodyWith(ownWorld, sbs))).status).toBe(200);
    }
    const { customers, sessions } = await ownWorld.stored();
    expect(new Set(customers.map((customer) => customer.external_id))).toEqual(
      new Set(["1001", "01001", "1001 ", "１００１", "10010"]),
    );
    expect(customers).toHaveLength(5);
    expect(sessions).toHaveLength(6);
  });

  it("sbs distinguishes customers by case and by Unicode composition", async () => {
    const ownWorld = await World.create();
    for (const sbs of ["Ab", "aB", "é", "e\u0301"]) await ownWorld.chatId({ sbs });
    expect((await ownWorld.stored()).customers).toHaveLength(4);
  });

  it.each(["appid", "ranstr", "content", "title"])(
    "sbs is the only text field that accepts a number: %s does not",
    async (field) => {
      expect(await send((of) => of.createBody({ sbs: 1001, [field]: 1001 }))).toMatch(new RegExp(`^${field}: `));
    },
  );
});
