import type { Site } from "../../services/sites.ts";
import { docsPath } from "../docs-path.ts";
import { CopyButton } from "../parts/parts.tsx";
import type { View } from "../view.ts";
import type { Choices } from "./session-filter.ts";

/** The agent's id in the example when the agents were not read. */
const SOME_AGENT = 1;

/** How to open the first session of a site: what is missing, and a command that opens one. */
export function FirstCall(props: { view: View; site: Site; choices: Choices; origin: string }) {
  const { view, site, choices, origin } = props;
  const { t } = view;
  const path = `/console/sites/${site.id}`;
  const app = choices.apps.find(({ revokedAt }) => revokedAt === null);
  const agents = choices.agents ?? [{ id: SOME_AGENT }];
  const agent = agents[0]?.id ?? SOME_AGENT;
  const fields = {
    sbs: "customer_001",
    ip: "127.0.0.1",
    sbs_mc: "Wang Wei",
    content: "Hello",
    kefu_id: [agent],
    fzr_uid: agent,
  };
  const command = `npm run call -- create_gd --url ${origin} --appid ${app?.appid ?? "APPID"} --secret SECRET '${JSON.stringify(fields)}'`;
  return (
    <>
      <p>{t("A signed call of an app opens a session. What the first one needs:")}</p>
      <ol class="steps">
        <li>
          {app === undefined ? (
            <a href={`${path}/apps`}>{t("Issue an app")}</a>
          ) : (
            <>
              {t("App")}:{" "}
              <a href={`${path}/apps/${app.appid}`}>
                <bdi>{app.name}</bdi>
              </a>
            </>
          )}
        </li>
        <li>
          {agents.length === 0 ? (
            <a href={`${path}/agents`}>{t("Add an agent")}</a>
          ) : (
            <>
              {t("Agents")}: <a href={`${path}/agents`}>{t("All agents")}</a>
            </>
          )}
        </li>
        <li>{t("This command, in a checkout of Agent Session, with the secret of the app for SECRET:")}</li>
      </ol>
      <pre id="first-call">{command}</pre>
      <CopyButton id="first-call" label={t("Command")} />
      <p>
        <a href={docsPath(view, "integrating", { appid: app?.appid, agentId: agents[0]?.id })}>
          {t("How to call from your own code")}
        </a>
      </p>
    </>
  );
}
