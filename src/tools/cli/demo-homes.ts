import type { DemoReport } from "./demo-report.ts";
import type { DemoSite, DemoWorld } from "./demo-world.ts";

/** Shows two sites in two homes: callers see no difference, the sites share nothing, and each works while the other home is closed. */
export async function runHomes(world: DemoWorld, report: DemoReport): Promise<void> {
  report.section("Two homes");
  const agents = [30001, 30002];
  const berlin = await world.provision("Berlin", agents);
  const tokyo = await world.provision("Tokyo", agents, "apac");
  const openingRequest = (site: DemoSite, content: string) =>
    world.signed(site, "create_gd", {
      sbs: "customer_001",
      ip: "203.0.113.7",
      sbs_mc: "Wang Wei",
      content,
      kefu_id: agents,
      fzr_uid: 30001,
    });

  const inBerlin = await world.expectCreated(
    "the first session in main",
    berlin,
    await openingRequest(berlin, "Guten Tag"),
  );
  const inTokyo = await world.expectCreated(
    "the first session in apac",
    tokyo,
    await openingRequest(tokyo, "Konnichiwa"),
  );
  report.check("each site counts its own, from 1", [inBerlin, inTokyo], [1, 1]);
  const second = await world.expectCreated(
    "the second session in main",
    berlin,
    await openingRequest(berlin, "Noch eine Frage"),
  );
  const reaching = await world.signed(tokyo, "add_kf", { chat_id: second, kefu_ids: [30002] });
  await world.expectRefused("a session of main with an appid of apac", reaching, {
    status: 404,
    msg: "会话不存在",
    detail: "chat_id",
  });

  await world.closeHomes(["apac"]);
  const waiting = await openingRequest(tokyo, "Mata ne");
  await world.expectRefused("a call to the closed home", waiting, {
    status: 503,
    msg: "服务暂时不可用",
    retryAfter: 30,
  });
  const third = await world.expectCreated("a call to the other home", berlin, await openingRequest(berlin, "Danke"));
  await inspectHomes(world, report, { main: "open", apac: "closed" });

  await world.closeHomes([]);
  const later = await world.expectCreated(
    "the very request that was refused: its ranstr was not used up",
    tokyo,
    waiting,
  );
  await inspectHomes(world, report, { main: "open", apac: "open" });
  await world.inspectList(berlin, [inBerlin, second, third]);
  await world.inspectList(tokyo, [inTokyo, later]);
}

async function inspectHomes(world: DemoWorld, report: DemoReport, expected: Record<string, string>): Promise<void> {
  report.step("GET /admin/homes");
  const { items } = await world.admin<{ items: { name: string; status: string }[] }>("GET", "/admin/homes");
  const statuses = Object.fromEntries(items.map(({ name, status }) => [name, status]));
  report.fields(statuses);
  report.check("which homes are open", statuses, expected);
}
