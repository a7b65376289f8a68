import type { Child } from "hono/jsx";
import type { Site } from "../../services/sites.ts";
import { docsPath } from "../docs-path.ts";
import { Badge, CopyButton } from "../parts/parts.tsx";
import { useView } from "../view.ts";

/** The apps and agents of a site. `agents` is undefined for a site with many. */
export interface Choices {
  apps: { appid: string; name: string; revokedAt: number | null }[];
  agents: { id: number; name: string }[] | undefined;
}

/** The agent's id in the example when the agents were not read. */
const SOME_AGENT = 1;

/** The three steps to the first session of a site: agents, an app, and a call that opens it. What is next is a button. */
export function FirstCall({ site, choices, origin }: { site: Site; choices: Choices; origin: string }) {
  const view = useView();
  const { t } = view;
  const path = `/console/sites/${site.id}`;
  const app = choices.apps.find(({ revokedAt }) => revokedAt === null);
  const agents = choices.agents ?? [{ id: SOME_AGENT }];
  const agent = agents[0]?.id ?? SOME_AGENT;
  const body = JSON.stringify({
    sbs: "customer_001",
    ip: "127.0.0.1",
    sbs_mc: "Wang Wei",
    content: "Hello",
    kefu_id: [agent],
    fzr_uid: agent,
  });
  const call = `--url ${origin} --appid ${app?.appid ?? "APPID"} --secret SECRET '${body}'`;
  const test = app && view.may(`${path}/apps/${app.appid}/test`, "GET") && `/apps/${app.appid}/test`;
  const steps: [label: string, isDone: boolean, to: string | undefined | false, text: Child][] = [
    [t("Agents"), agents.length > 0, "/agents", agents.length > 0 ? t("All agents") : t("Add an agent")],
    [
      t("App"),
      app !== undefined,
      `/apps${app ? `/${app.appid}` : ""}`,
      app ? <bdi>{app.name}</bdi> : t("Issue an app"),
    ],
    [t("First call"), false, test, t("Send a test call")],
  ];
  const next = steps.findIndex(([, isDone]) => !isDone);
  return (
    <>
      <p>{t("A signed call of an app opens a session. What the first one needs:")}</p>
      <ol class="steps">
        {steps.map(([label, isDone, to, text], i) => (
          <li class="step">
            {isDone && <Badge kind="good" label={t("Done")} />} {label}{" "}
            {to && (
              <a href={path + to} class={i === next ? "button" : undefined}>
                {text}
              </a>
            )}
          </li>
        ))}
      </ol>
      {next === steps.length - 1 && (
        <>
          <p>{t("Or this command, in a checkout of Agent Session, with the secret of the app for SECRET:")}</p>
          <pre id="first-call">npm run call -- create_gd {call}</pre>
          <CopyButton id="first-call" label={t("Command")} />
        </>
      )}
      <p>
        <a href={docsPath(view, "integrating", { appid: app?.appid, agentId: agents[0]?.id })}>
          {t("How to call from your own code")}
        </a>
      </p>
    </>
  );
}
