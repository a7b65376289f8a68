import { isVisible } from "../../../core/fields.ts";
import { type DeletionProgress, LEFT_LIMIT, type SiteDeletion } from "../../services/delete-site.ts";
import type { Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { showPage } from "../layout.tsx";
import { Form } from "../parts/form.tsx";
import { Copyable, NoticeBox, Time } from "../parts/parts.tsx";
import type { View } from "../view.ts";
import { deletePath } from "./site-paths.ts";

/** Replaces the overview of an ended site, and shows how far its deletion is. */
export async function endedPage(
  c: PageContext,
  site: Site,
  { deletion, remaining, receipt }: DeletionProgress,
): Promise<Response> {
  const { view } = c.var;
  const { t } = view;
  const remainingRows = Object.entries(remaining).filter(([, count]) => count > 0);
  const body = (
    <>
      <Progress view={view} site={site} deletion={deletion} />
      {receipt !== undefined && view.may(deletePath(site)) && <Receipt view={view} receipt={receipt} />}
      <section class="card">
        <dl class="facts">
          <dt>{t("Deletion begun")}</dt>
          <dd>
            <Time at={deletion.begunAt} />
          </dd>
          <dt>{t("All gone")}</dt>
          <dd>{deletion.doneAt === null ? t("Not yet") : <Time at={deletion.doneAt} />}</dd>
          <Copyable id="deletion-id" label={t("Id of the deletion")} text={deletion.id} />
        </dl>
        <p class="hint">{t("Its row in the audit log has this id.")}</p>
      </section>
      <section class="card">
        <h2>{t("What is left of its data")}</h2>
        {remainingRows.length === 0 ? (
          <p>{t("Nothing.")}</p>
        ) : (
          <dl class="facts">
            {remainingRows.map(([table, count]) => (
              <>
                <dt>{tableText(view, table)}</dt>
                <dd>{countText(view, count)}</dd>
              </>
            ))}
          </dl>
        )}
      </section>
    </>
  );
  // The name of a deleted site is deleted too.
  const name = isVisible(site.name) ? site.name : `(${site.id})`;
  return showPage(c, { title: name, site: { ...site, name, tab: "overview" }, body });
}

function Progress({ view, site, deletion }: { view: View; site: Site; deletion: SiteDeletion }) {
  const { t } = view;
  if (deletion.keptAt === null) {
    return (
      <NoticeBox kind="bad" title={t("The deletion has begun, but not everything knows of it")}>
        <p>
          {t(
            "The directory or KV did not answer. Until they know of it, nothing is deleted: send it again. It cannot be called off.",
          )}
        </p>
        <Form action={deletePath(site)}>
          <input type="hidden" name="name" value={site.name} />
          <button type="submit" class="danger">
            {t("Send it again")}
          </button>
        </Form>
      </NoticeBox>
    );
  }
  if (deletion.doneAt === null) {
    return (
      <NoticeBox kind="note" title={t("This site is being deleted")}>
        <p>
          {t(
            "Its apps are unknown, and its webhooks get nothing more. The cron deletes its data in steps. It cannot be called off.",
          )}
        </p>
      </NoticeBox>
    );
  }
  return (
    <NoticeBox kind="good" title={t("This site is deleted")}>
      <p>{t("Its rows of the audit log stay. Its appids are kept for 31 days, and D1's Time Travel keeps 30 days.")}</p>
    </NoticeBox>
  );
}

/** The receipt that an operator needs after a restore of main, for a deployment where no other place survives the restore. */
function Receipt({ view, receipt }: { view: View; receipt: NonNullable<DeletionProgress["receipt"]> }) {
  const { t } = view;
  return (
    <section class="card">
      <h2>{t("Receipt to keep for 31 days")}</h2>
      <p>
        {t(
          "This deployment has no KV, so a restore of its main database also undoes what it knows of this deletion, and may bring the site back. Keep this outside of the deployment, and paste it in after a restore.",
        )}
      </p>
      <dl class="facts">
        <Copyable id="receipt" label={t("Receipt")} text={JSON.stringify([receipt])} />
      </dl>
    </section>
  );
}

/** Counting stops at LEFT_LIMIT, so a larger number is shown with a "+". */
function countText({ language }: View, count: number): string {
  const number = new Intl.NumberFormat(language).format(count);
  return count < LEFT_LIMIT ? number : `${number}+`;
}

/** The content of a site's table in words. test/operators/console/sites/site-end.test.ts names a table without words. */
export function tableText({ t }: View, table: string): string {
  const texts: Record<string, string> = {
    deliveries: t("Deliveries"),
    events: t("Events"),
    nonces: t("Used one-time texts (ranstr)"),
    idempotency_keys: t("Idempotency-Keys"),
    refusals: t("Refused calls"),
    participants: t("Participants"),
    messages: t("Messages"),
    sessions: t("Sessions"),
    customers: t("Customers"),
    erasures: t("Erasures of customers"),
    webhooks: t("Webhooks"),
    agents: t("Agents"),
    apps: t("Apps"),
    usage: t("Usage by hours"),
    usage_days: t("Usage by days"),
    counters: t("Counters for the metrics"),
    counted_events: t("How far events are counted"),
  };
  return texts[table] ?? table;
}
