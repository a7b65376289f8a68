import type { AuditAction } from "../../../services/audit.ts";
import type { View } from "../view.ts";

/** An action in the reader's language. */
export function actionText(view: View, action: AuditAction): string {
  const texts: Record<AuditAction, string> = {
    "site.begun": view.t("Site begun"),
    "site.created": view.t("Site created"),
    "site.renamed": view.t("Site renamed"),
    "site.opened": view.t("Site opened"),
    "site.closed": view.t("Site closed"),
    "site.first_chat_id_set": view.t("First chat_id set"),
    "site.events_on": view.t("Events turned on"),
    "site.events_off": view.t("Events turned off"),
    "app.routed": view.t("Appid kept for the site"),
    "app.released": view.t("Appid released"),
    "app.issued": view.t("App issued"),
    "app.imported": view.t("App imported"),
    "app.rotated": view.t("Secret rotated"),
    "app.overlap_ended": view.t("Old secret ended"),
    "app.revoked": view.t("App revoked"),
    "agent.added": view.t("Agent added"),
    "agent.renamed": view.t("Agent renamed"),
    "agent.enabled": view.t("Agent enabled"),
    "agent.disabled": view.t("Agent disabled"),
    "webhook.added": view.t("Webhook added"),
    "webhook.changed": view.t("Webhook changed"),
    "webhook.enabled": view.t("Webhook enabled"),
    "webhook.disabled": view.t("Webhook disabled"),
    "webhook.rotated": view.t("Webhook secret rotated"),
    "webhook.overlap_ended": view.t("Old webhook secret ended"),
    "webhook.redelivered": view.t("Events sent again"),
    "webhook.deleted": view.t("Webhook deleted"),
    "webhook.pinged": view.t("Ping sent"),
    "token.created": view.t("Token made"),
    "token.deleted": view.t("Token deleted"),
    "operator.signed_in": view.t("Signed in"),
    "operator.signed_out": view.t("Signed out"),
    "operator.session_ended": view.t("Console session ended"),
    "operator.refused": view.t("Sign-in refused"),
    "root.read": view.t("Read with the ADMIN_TOKEN"),
    "secrets.resealed": view.t("Secrets re-sealed"),
    "customer.exported": view.t("Customer's data handed over"),
    "customer.erasure_begun": view.t("Erasing a customer's data begun"),
    "customer.erased": view.t("Customer's data erased"),
    "home.restored": view.t("Home restored"),
  };
  return texts[action];
}
