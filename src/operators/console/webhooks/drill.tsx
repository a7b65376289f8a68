import { DRILL_CASES, drillWebhook, judgeDrill } from "../../services/drill-webhook.ts";
import type { WebhookOf } from "../../services/webhooks.ts";
import type { PageContext } from "../env.ts";
import { Table } from "../parts/list.tsx";
import { Badge, NoticeBox } from "../parts/parts.tsx";
import type { View } from "../view.ts";
import { resultIn, withResult } from "./webhook-of.tsx";

/** Drills the receiver of a webhook. @returns the address that shows what it answered */
export async function drilledLocation(c: PageContext, path: string, webhookOfPath: WebhookOf): Promise<string> {
  const { results } = await drillWebhook(c.var.ctx, webhookOfPath);
  return withResult(c, path, ["drilled", results.map(({ status }) => status ?? "").join()]);
}

/** What is wrong with a receiver. What follows from a fault that is named already is left out. */
function faultsOf({ t }: View, { results }: ReturnType<typeof judgeDrill>): string[] {
  const takesGood = results[0]?.ok;
  const faults = results.map(({ case: name, status, expected, ok }) => {
    if (ok) return "";
    if (status === null) return t("It gave no answer, or none within 15 s.");
    const isUnclear = expected === "4xx" && (status < 200 || status > 299);
    if (isUnclear) return t("It answered {0} to what it must refuse: only a 4xx says that it was refused.", status);
    return name === "good" || expected === "4xx" || takesGood ? t(DRILL_CASES[name].fault) : "";
  });
  return [...new Set(faults.filter(Boolean))];
}

/** The notice and the table of a drill that just came to its end. */
export async function drillNotice(c: PageContext, path: string) {
  const { view, t } = c.var;
  const statuses = await resultIn(c, path, "drilled");
  if (statuses === undefined) return null;
  const drill = judgeDrill(statuses.split(",").map((status) => (status === "" ? null : Number(status))));
  const title = drill.ok ? t("Your receiver passed the drill.") : t("Your receiver did not pass the drill.");
  return (
    <>
      <NoticeBox kind={drill.ok ? "good" : "bad"} title={title}>
        {faultsOf(view, drill).map((fault) => (
          <p>{fault}</p>
        ))}
        <p>{t("The first two posts had the same webhook-id. Only its own log tells whether it acted on them once.")}</p>
      </NoticeBox>
      <Table
        id="drill"
        label={t("Drill")}
        head={[t("Posted"), { label: t("Expected"), named: true }, { label: t("Answered"), named: true }, t("Result")]}
        rows={drill.results.map(({ case: name, status, expected, ok }) => [
          t(DRILL_CASES[name].posted),
          expected,
          status ?? t("no answer"),
          <Badge kind={ok ? "good" : "bad"} label={ok ? t("Right") : t("Wrong")} />,
        ])}
        empty=""
      />
    </>
  );
}
