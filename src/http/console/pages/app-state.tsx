import { Badge } from "../parts.tsx";
import type { View } from "../view.ts";

export function AppState({
  v,
  revokedAt,
  previousExpiresAt,
}: {
  v: View;
  revokedAt: number | null;
  previousExpiresAt: number | null;
}) {
  if (revokedAt !== null) return <Badge kind="bad" label={v.t("Revoked")} />;
  if ((previousExpiresAt ?? 0) > v.now) return <Badge kind="wait" label={v.t("Two secrets")} />;
  return <Badge kind="good" label={v.t("Active")} />;
}
