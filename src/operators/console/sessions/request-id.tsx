import { CopyButton } from "../parts/parts.tsx";
import type { View } from "../view.ts";

/** The id of the call that opened a session: a link to the call, and a button that copies it where scripts run. */
export function RequestId({ view, path, id }: { view: View; path: string; id: string }) {
  return (
    <div class="copied">
      <a href={`${path}/requests/${id}`}>
        <code id="request-id">{id}</code>
      </a>
      <CopyButton id="request-id" label={view.t("Request id")} />
    </div>
  );
}
