import type { WebhookTroubles } from "../../../services/webhooks.ts";
import { Badge } from "../parts/parts.tsx";
import type { View } from "../view.ts";

/** Tells how many webhooks of a site the Worker disabled and how many fail, and links to them. */
export function Troubles(props: { view: View; siteId: number; troubles: WebhookTroubles | undefined }) {
  const { view, siteId, troubles } = props;
  const { t } = view;
  if (troubles === undefined) return null;
  const { disabled, failing } = troubles;
  return (
    <a class="troubles" href={`/console/sites/${siteId}/webhooks`}>
      {disabled > 0 && <Badge kind="bad" label={t("Webhooks disabled: {0}", disabled)} />}
      {failing > 0 && <Badge kind="bad" label={t("Webhooks failing: {0}", failing)} />}
    </a>
  );
}
