import type { Retention, Site } from "../../services/sites.ts";
import type { FilledForm } from "../forms/messages.ts";
import { daysKeptText } from "../parts/days-kept-text.ts";
import { Field } from "../parts/form.tsx";
import { Setting } from "../parts/setting.tsx";
import type { View } from "../view.ts";
import { retentionPath } from "./site-paths.ts";

/** How long a site keeps its sessions. An owner gets the form that leads to the question. Other readers see the setting. */
export function RetentionCard(props: {
  view: View;
  site: Site;
  retention: Retention;
  filledForm: FilledForm | undefined;
}) {
  const { view, site, retention, filledForm } = props;
  const { t } = view;
  const path = retentionPath(site);
  return (
    <Setting
      id="retention"
      title={t("How long sessions are kept")}
      text={t(
        "Older sessions are deleted for good, with their messages, participants and events. The cron does it in steps.",
      )}
    >
      <RetentionProgress view={view} retention={retention} />
      {view.may(path) ? (
        <form method="get" action={path}>
          <Field
            label={t("Days")}
            name="days"
            value={filledForm?.values.days ?? String(retention.days ?? "")}
            error={filledForm?.errors.days}
            hint={t(
              "1 to 3650. Left empty, sessions are kept for ever. The next page says what would go, and asks again.",
            )}
            inputmode="numeric"
            maxlength={4}
          />
          <button type="submit" class="plain">
            {t("Go on…")}
          </button>
        </form>
      ) : (
        <>
          <dl class="facts">
            <dt>{t("Now")}</dt>
            <dd>{daysKeptText(view, retention.days)}</dd>
          </dl>
          <p class="hint">{t("Only an owner may change it.")}</p>
        </>
      )}
    </Setting>
  );
}

/** How far the deletion of old sessions is: how many that are old enough are still stored, and the time of the oldest. */
export function RetentionProgress({ view, retention }: { view: View; retention: Retention }) {
  const { t } = view;
  const { days, oldestAt, older } = retention;
  if (days === null) return null;
  const retentionText = daysKeptText(view, days);
  if (oldestAt === null || older === null || older === 0)
    return <p>{t("No session is older than {0}.", retentionText)}</p>;
  return (
    <>
      <p>
        {t(
          "Sessions older than {0} that are still to go: about {1}. The oldest is from {2}.",
          retentionText,
          new Intl.NumberFormat(view.language).format(older),
          view.time(oldestAt),
        )}
      </p>
      <p class="hint">{t("Estimated from ids, not counted.")}</p>
    </>
  );
}
