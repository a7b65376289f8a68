import { describe, expect, it } from "vitest";
import { PERSON_ROLES } from "../../../../src/operators/access/role.ts";
import { visitorWithRole } from "../../../support/access-world.ts";
import { start } from "../../../support/console-visitor.ts";

/** The page /console/metrics. */

const files: Record<string, string> = import.meta.glob("../../../../docs/prometheus/{alerts,prometheus}.yml", {
  query: "?raw",
  import: "default",
  eager: true,
});
const fileOf = (name: string) => files[`../../../../docs/prometheus/${name}`] ?? "";

describe("the page of the metrics", () => {
  it("the front page leads to the metrics, and their page has the address that a scraper reads", async () => {
    const { world, visitor } = await start("main");
    const page = await visitor.open((await visitor.open("/console")).link("Metrics and alerts"));
    expect([page.path, page.heading]).toEqual(["/console/metrics", "Metrics and alerts"]);
    const { pathname, origin } = new URL(page.code("address"));
    expect(origin).toBe("https://worker");
    expect((await world.admin("GET", pathname)).headers.get("content-type")).toContain("application/openmetrics-text");
  });

  it("the page of the metrics shows the alerts of docs/prometheus unchanged, and how many there are", async () => {
    const { visitor } = await start("main");
    const page = await visitor.open("/console/metrics");
    const alerts = fileOf("alerts.yml");
    expect(alerts).toContain("- alert: AgentSessionHomeSilent");
    expect(page.code("alerts")).toBe(alerts);
    expect(page.text).toContain(`Show the alerts (${alerts.split("- alert: ").length - 1})`);
    expect(page.link("alerts.yml as a file")).toBe("/docs/prometheus/alerts.yml");
  });

  it("the page of the metrics shows the configuration of docs/prometheus with this host", async () => {
    const { visitor } = await start("main");
    const page = await visitor.open("/console/metrics");
    const [before = "", after = ""] = fileOf("prometheus.yml").split("agent-session.example.workers.dev");
    expect(after).not.toBe("");
    expect(page.code("configuration")).toBe(`${before}worker${after}`);
    expect(page.code("configuration")).toContain("scheme: https");
    expect(page.code("configuration")).toContain(`metrics_path: ${new URL(page.code("address")).pathname}`);
  });

  it.each(PERSON_ROLES)(
    "the page of the metrics leads an owner to a token of the role metrics, and no other role: %s",
    async (role) => {
      const { world } = await start("main");
      const visitor = await visitorWithRole(world, role);
      const page = await visitor.open("/console/metrics");
      expect(page.status).toBe(200);
      if (role !== "owner") {
        expect(() => page.link("Make a token for it…")).toThrow();
        expect(page.text).toContain("Only an owner makes the token, with the role metrics.");
        return;
      }
      const form = await visitor.open(page.link("Make a token for it…"));
      expect(form.value("Role")).toBe("metrics");
      const made = await visitor.press(form, "Make the token", { Name: `Prometheus ${world.siteId}` });
      const read = (path: string) =>
        world.fetch(
          new Request(`https://worker${path}`, { headers: { authorization: `Bearer ${made.code("token")}` } }),
        );
      expect((await read("/admin/metrics")).status).toBe(200);
      expect((await read("/admin/sites")).status).toBe(403);
    },
  );

  it.each([
    ["answer 503", async () => new Response("", { status: 503 })],
    ["fail", async () => Promise.reject(new Error("no assets"))],
  ])("the page of the metrics has the links to the files alone when the assets %s", async (_, fetch) => {
    const { world, visitor } = await start("main");
    const page = await visitor.through(world.anotherIsolate({ ASSETS: { fetch } } as never)).open("/console/metrics");
    expect([page.status, page.code("alerts"), page.code("configuration")]).toEqual([200, "", ""]);
    expect(page.link("prometheus.yml as a file")).toBe("/docs/prometheus/prometheus.yml");
    expect(page.link("alerts.yml as a file")).toBe("/docs/prometheus/alerts.yml");
  });
});
