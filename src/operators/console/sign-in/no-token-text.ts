import type { AdminTokenFault } from "../../../config.ts";
import type { View } from "../view.ts";

/** Why signing in is impossible; undefined when it is possible. */
export function noTokenText({ t }: View, fault: AdminTokenFault | undefined): string | undefined {
  if (fault === undefined) return undefined;
  const texts: Record<AdminTokenFault, string> = {
    "is not set": t("ADMIN_TOKEN is not set, so nobody can sign in."),
    "holds a line break": t("ADMIN_TOKEN holds a line break, so nobody can sign in."),
    "holds a blank": t("ADMIN_TOKEN holds a blank, so nobody can sign in."),
    "holds a control character": t("ADMIN_TOKEN holds a control character, so nobody can sign in."),
    "holds a character that is not ASCII": t("ADMIN_TOKEN holds a character that is not ASCII, so nobody can sign in."),
    "is shorter than 32 characters": t("ADMIN_TOKEN is shorter than 32 characters, so nobody can sign in."),
    "is a placeholder": t("ADMIN_TOKEN is a placeholder, so nobody can sign in."),
  };
  return texts[fault];
}
