import { beforeAll, describe, expect, it } from "vitest";
import { World } from "../../support/world.ts";
import { notA } from "../../support/wrong-type-text.ts";
import { refusedBodies } from "./refused-bodies.ts";

const IP_RULE = "ip: must be one IPv4 or IPv6 address, without port, brackets or blanks";

describe("ip of create_gd", () => {
  let world: World;
  beforeAll(async () => {
    world = await World.create();
  });
  const send = refusedBodies("create_gd");

  it.each([
    "127.0.0.1",
    "0.0.0.0",
    "255.255.255.255",
    "::",
    "::1",
    "2001:db8::1",
    "2001:DB8::A",
    "2001:0db8:0000:0000:0000:0000:0000:0001",
    "fe80::1",
    "::ffff:192.0.2.1",
    "64:ff9b::192.0.2.33",
    "1:2:3:4:5:6:7:8",
    "1::8",
    "1:2:3:4:5:6:7::",
  ])("ip of create_gd may be %s, and is stored as sent", async (ip) => {
    await world.chatId({ sbs: `customer at ${ip}`, ip });
    expect((await world.stored()).customers).toContainEqual(
      expect.objectContaining({ external_id: `customer at ${ip}`, ip }),
    );
  });

  it.each([
    "",
    " 127.0.0.1",
    "127.0.0.1\n",
    "127.0.0",
    "127.0.0.1.1",
    "256.0.0.1",
    "127.0.0.01",
    "0127.0.0.1",
    "0x7f.0.0.1",
    "127.1",
    "2130706433",
    "127.0.0.1:80",
    "127.0.0.1/8",
    "-1.0.0.1",
    "１２７.0.0.1",
    "localhost",
    "example.com",
    "fe80::1%eth0",
    "[::1]",
    "::1]",
    "::1]:80/[::1",
    "::1@[::1",
    "::1/64",
    ":::",
    "1::2::3",
    "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:8:9",
    "1:2:3:4:5:6:7::8:9",
    "12345::",
    "g::1",
    "::ffff:256.0.0.1",
    "::ffff:1.2.3",
    "1.2.3.4::",
    "unknown",
    "192.0.2.1:80",
    "[2001:db8::1]",
    "192.0.2.1, 198.51.100.7",
  ])("ip of create_gd may not be %j", async (ip) => expectRefused(ip));

  it.each([[null], [2130706433], [["127.0.0.1"]], [{}], [true]])(
    "ip of create_gd may not be of another type: %j",
    async (ip) => expectRefused(ip, `${IP_RULE}${notA(ip)}`),
  );

  it("ip of create_gd may not be missing", async () => expectRefused(undefined, "ip: is required"));

  async function expectRefused(ip: unknown, detail = IP_RULE): Promise<void> {
    expect(await send((of) => of.createBody({ ip }))).toBe(detail);
  }
});
