import type { View } from "./view.ts";

/** What the schemas say is wrong with a field, for a reader. Its numbers are not part of the text that is translated. */
export function ruleText(v: View, message: string): string {
  const numbers: string[] = [];
  const text = message.replace(/\d+/g, (number) => `{${numbers.push(number) - 1}}`);
  return v.t(text.charAt(0).toUpperCase() + text.slice(1), ...numbers);
}

/** What a form's fields were and what is wrong with them. */
export interface Filled {
  values: Record<string, string>;
  errors: Record<string, string>;
}

export const UNFILLED: Filled = { values: {}, errors: {} };

export function filled(v: View, values: Record<string, string>, issues: { field: string; message: string }[]): Filled {
  return { values, errors: Object.fromEntries(issues.map(({ field, message }) => [field, ruleText(v, message)])) };
}

/** What has just been done, after a redirect: `?done=` in the address. */
export function doneText(v: View, done: string | undefined): string | undefined {
  const texts: Record<string, string> = {
    site: v.t("The site was created."),
    revoked: v.t("The app was revoked."),
    agents: v.t("The agents were added."),
    renamed: v.t("The agent was renamed."),
    normal: v.t("The agent was enabled."),
    disabled: v.t("The agent was disabled."),
  };
  return done === undefined || !Object.hasOwn(texts, done) ? undefined : texts[done];
}
