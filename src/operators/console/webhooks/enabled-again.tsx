import type { Webhook } from "../../services/webhooks.ts";
import { withParameter } from "../console-path.ts";
import type { PageContext } from "../env.ts";
import { ticketEnd, ticketFor } from "../forms/tickets.ts";
import { NoticeBox } from "../parts/parts.tsx";

/** The notice on the page of a webhook that was just enabled. It offers to send the events that the webhook missed meanwhile. */

/** How long the page offers this. */
const OFFERED_SECONDS = 7_200;

const purposeOf = (path: string, since: string) => ["enabled", path, since];

/** The address of a webhook's page after it was enabled. @param since when the webhook was disabled, or began to fail */
export async function enabledLocation(c: PageContext, path: string, since: number): Promise<string> {
  const { session, now } = c.var.view;
  if (session === undefined) return path;
  const ticket = await ticketFor(session, purposeOf(path, String(since)), now, OFFERED_SECONDS);
  return withParameter(path, "enabled", `${since}.${ticket}`);
}

/** The notice for an address of {@link enabledLocation}, while the webhook is enabled. */
export async function enabledNotice(c: PageContext, path: string, webhook: Pick<Webhook, "status">) {
  const { t, session, now, time } = c.var.view;
  const [, since = "", ticket = ""] = /^(\d+)\.(.*)$/.exec(c.req.query("enabled") ?? "") ?? [];
  if (session === undefined || webhook.status !== "enabled") return null;
  if ((await ticketEnd(session, purposeOf(path, since), ticket, now)) === undefined) return null;
  const query = new URLSearchParams({ time: "own", since, failed: "on", missed: "on" });
  return (
    <NoticeBox kind="good" title={t("The webhook is enabled. It got nothing since {0}.", time(Number(since)))}>
      <p>
        <a href={`${path}/send-again?${query}`}>{t("Send what it missed…")}</a>
      </p>
    </NoticeBox>
  );
}
