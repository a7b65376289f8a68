import { afterEach, describe, expect, it, vi } from "vitest";
import { visitorWithRole } from "../../support/access-world.ts";
import { CALLS, prepared } from "../../support/admin-calls.ts";
import { databaseOf } from "../../support/homes.ts";
import { newToken, useToken } from "../../support/new-token.ts";
import { NOW, World } from "../../support/world.ts";
import { searched } from "../console/search/search-world.ts";

afterEach(() => void vi.unstubAllGlobals());

/** Path and query of a webhook's URL may hold a token of its receiver. A viewer sees only the scheme and the host. */
const HIDDEN = "path-with-a-token";

// A webhook is only in its site's home. The home is apac here, so that the directory has none.
const home = "apac";

async function start() {
  const world = await prepared(await World.create({}, home));
  const { siteId } = world;
  const failing = `failing_since = ${NOW - 900}, last_cause = 'no_answer', previous_expires_at = ${NOW + 900}`;
  const set = `UPDATE webhooks SET url = 'https://hooks.example.com/${HIDDEN}?t=1', ${failing} WHERE site_id = ?`;
  await databaseOf(home).prepare(set).bind(siteId).run();
  return { world, list: `/sites/${siteId}/webhooks` };
}

describe("the URL of a webhook", () => {
  it.each([false, true])(
    "a viewer's token gets only scheme and host of a webhook's URL in every answer (token of one site: %s)",
    async (ofSite) => {
      const { world, list } = await start();
      const { token } = await newToken({ role: "viewer", ...(ofSite && { siteId: world.siteId }) });
      const authorization = `Bearer ${token}`;
      for (const { method, path } of CALLS.filter((each) => each.role === "viewer")) {
        const headers = { authorization };
        const answer = await world.fetch(new Request(`http://worker${path(world)}`, { method, headers }));
        expect([path(world), (await answer.text()).includes(HIDDEN)]).toEqual([path(world), false]);
      }
      const answer = await useToken(world, token, "GET", `/admin${list}`);
      expect(answer.body).toMatchObject({ items: [{ url: "https://hooks.example.com" }] });
      const { token: operators } = await newToken();
      const whole = await useToken(world, operators, "GET", `/admin${list}`);
      expect(whole.body).toMatchObject({ items: [{ url: `https://hooks.example.com/${HIDDEN}?t=1` }] });
    },
  );

  it("a viewer sees only scheme and host of a webhook's URL on every console page, an operator sees the whole URL", async () => {
    const { world, list } = await start();
    const id = `wh_of_${world.siteId}`;
    const site = `/console/sites/${world.siteId}`;
    const event = await databaseOf(home)
      .prepare("SELECT id FROM events WHERE site_id = ?")
      .bind(world.siteId)
      .first<string>("id");
    const webhook = `/console${list}/${id}`;
    const paths = ["/console", site, `/console${list}`, webhook, `${webhook}/deliveries/1`, `${site}/audit`];
    const pagesOf = async (role: "viewer" | "operator") => {
      const visitor = await visitorWithRole(world, role);
      const pages = [];
      for (const path of [...paths, `${site}/sessions/900220`]) pages.push(await visitor.open(path));
      for (const text of [id, String(event)]) pages.push(await searched(visitor, text));
      return pages.map(({ html }) => html);
    };
    const [viewers, operators] = [await pagesOf("viewer"), await pagesOf("operator")];
    expect(viewers.filter((html) => html.includes(HIDDEN))).toEqual([]);
    expect(viewers.filter((html) => html.includes("hooks.example.com")).length).toBeGreaterThanOrEqual(6);
    expect(operators.filter((html) => html.includes(HIDDEN)).length).toBeGreaterThanOrEqual(3);
  });
});
