import { describe, expect, it } from "vitest";
import { World } from "../support/world.ts";

describe("the limit of a site", () => {
  it("counts the requests of all its apps, and an isolate that knows it exceeded refuses them for a second", async () => {
    const [world, other] = [await World.create({}, "apac"), await World.create({}, "apac")];
    const counted: string[] = [];
    const SITE_LIMIT = {
      limit: async ({ key }: { key: string }) => {
        counted.push(key);
        return { success: key !== `site ${world.siteId}` };
      },
    } as RateLimit;
    const isolate = world.anotherIsolate({ SITE_LIMIT });
    const issued = await world.admin("POST", `/admin/sites/${world.siteId}/apps`, { name: "Second" });
    const { appid, secret } = await issued.json<{ appid: string; secret: string }>();
    expect((await isolate.create()).status).toBe(200);
    expect(counted).toEqual([`site ${world.siteId}`]);

    Object.assign(isolate, { appid, secret });
    const refused = await isolate.create();
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "10"]);
    expect(counted).toHaveLength(1);
    Object.assign(isolate, { siteId: other.siteId, appid: other.appid, secret: other.secret });
    expect((await isolate.create()).status).toBe(200);

    Object.assign(isolate, { siteId: world.siteId, appid, secret });
    isolate.clock.now += 1;
    expect((await isolate.create()).status).toBe(200);
    expect((await world.stored()).sessions).toHaveLength(2);
  });
});
