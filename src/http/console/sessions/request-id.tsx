import type { View } from "../view.ts";

/** The id of the call that opened a session: a link to the call, and a button that copies it where scripts run. */
export function RequestId({ view, path, id }: { view: View; path: string; id: string }) {
  const { t } = view;
  return (
    <div class="copied">
      <a href={`${path}/requests/${id}`}>
        <code id="request-id">{id}</code>
      </a>
      <button type="button" class="plain" data-copy="request-id" data-done={t("Copied")} hidden>
        {t("Copy")}
        <span class="unseen"> {t("Request id")}</span>
      </button>
    </div>
  );
}
