import type { Child } from "hono/jsx";
import type { Site } from "../../services/sites.ts";
import { docsPath } from "../docs-path.ts";
import { CopyButton } from "../parts/parts.tsx";
import { useView } from "../view.ts";

/** The apps and agents of a site. `agents` is undefined for a site with many. */
export interface Choices {
  apps: { appid: string; name: string; revokedAt: number | null }[];
  agents: { id: number; name: string }[] | undefined;
}

/** The agent's id in the example when the agents were not read. */
const SOME_AGENT = 1;

/** How to open the first session of a site: what is missing, and a command that opens one. */
export function FirstCall({ site, choices, origin }: { site: Site; choices: Choices; origin: string }) {
  const view = useView();
  const { t } = view;
  const path = `/console/sites/${site.id}`;
  const app = choices.apps.find(({ revokedAt }) => revokedAt === null);
  const agents = choices.agents ?? [{ id: SOME_AGENT }];
  const agent = agents[0]?.id ?? SOME_AGENT;
  const link = (to: string, text: Child) => <a href={path + to}>{text}</a>;
  const body = JSON.stringify({
    sbs: "customer_001",
    ip: "127.0.0.1",
    sbs_mc: "Wang Wei",
    content: "Hello",
    kefu_id: [agent],
    fzr_uid: agent,
  });
  const call = `--url ${origin} --appid ${app?.appid ?? "APPID"} --secret SECRET '${body}'`;
  return (
    <>
      <p>{t("A signed call of an app opens a session. What the first one needs:")}</p>
      <ol class="steps">
        <li>
          {app && `${t("App")}: `}
          {app ? link(`/apps/${app.appid}`, <bdi>{app.name}</bdi>) : link("/apps", t("Issue an app"))}
        </li>
        <li>
          {agents.length > 0 && `${t("Agents")}: `}
          {link("/agents", agents.length > 0 ? t("All agents") : t("Add an agent"))}
        </li>
        <li>{t("This command, in a checkout of Agent Session, with the secret of the app for SECRET:")}</li>
      </ol>
      <pre id="first-call">npm run call -- create_gd {call}</pre>
      <CopyButton id="first-call" label={t("Command")} />
      <p>
        <a href={docsPath(view, "integrating", { appid: app?.appid, agentId: agents[0]?.id })}>
          {t("How to call from your own code")}
        </a>
      </p>
    </>
  );
}
