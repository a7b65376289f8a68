import type { Child } from "hono/jsx";
import { bindingOfHome } from "../../../core/homes.ts";
import { docsPath } from "../docs-path.ts";
import type { View } from "../view.ts";

/** The steps that restore a home. They begin with the same words as those of docs/operating.md, which a test compares. */
export function RestoreSteps({ view, home }: { view: View; home: string }) {
  const { t } = view;
  const binding = bindingOfHome(home);
  const steps: [begins: string, rest: Child][] = [
    [
      t("Keep the list of changes since the point."),
      <>
        {t("The home's own log goes back too. Keep it as a file, from the page:")}{" "}
        <a href="/console/audit">{t("Audit log")}</a>
      </>,
    ],
    [
      t("Close the home."),
      <>
        <code>npm run deploy -- --close {home}</code> {t("Then wait a minute.")}
      </>,
    ],
    [
      t("Restore its database."),
      <>
        {t("First keep the bookmark that info prints: it is the way back.")}
        <span class="line">
          <code>npx wrangler d1 time-travel info {binding} --env ""</code>
        </span>
        <span class="line">
          <code>npx wrangler d1 time-travel restore {binding} --timestamp 2026-11-22T06:00:00Z --env ""</code>
        </span>
      </>,
    ],
    [
      t("Migrate it."),
      <>
        <code>npm run deploy</code> {t("The restore undid later migrations too. The home stays closed.")}
      </>,
    ],
    [
      t("Reconcile it."),
      t("Send the form below, until no erasure is left: customers who were erased are erased again."),
    ],
    [
      t("Look at each app that the list names."),
      t("After the form is sent, this page shows the list. Look at the entries that you kept, too."),
    ],
    [
      t("Wait until it may be opened."),
      t("The answer tells this time. Until then, requests from before the restore could be sent again."),
    ],
    [t("Open it."), <code>npm run deploy -- --open {home}</code>],
  ];
  return (
    <section class="card">
      <h2>{t("In this order")}</h2>
      <ol class="steps">
        {steps.map(([begins, rest]) => (
          <li>
            <strong>{begins}</strong> {rest}
          </li>
        ))}
      </ol>
      <p class="hint">
        <a href={docsPath(view, "operating#restoring-a-home")}>{t("The steps in full")}</a>
      </p>
    </section>
  );
}
