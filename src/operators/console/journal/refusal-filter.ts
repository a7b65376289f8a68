import { OPERATIONS, REFUSAL_REASONS, refusalQuerySchema } from "../../services/journal.ts";
import type { PageContext } from "../env.ts";
import { filteredPath } from "../parts/filter.tsx";
import { localTime, secondsOf } from "../view.ts";

const HOUR = 3_600;

/** The fields of the filter above the refused calls, as they were sent. */
export interface RefusalFilterFields {
  appid: string;
  reason: string;
  operation: string;
  from: string;
  to: string;
}

/** A filter in two forms: as it was sent, and as a service takes it. Its errors are by field. */
export interface RefusalFilter {
  fields: RefusalFilterFields;
  filter: {
    appid: string | undefined;
    reason: string | undefined;
    operation: string | undefined;
    since: number | undefined;
    until: number | undefined;
  };
  errors: Record<string, string>;
}

export function readRefusalFilter(c: PageContext): RefusalFilter {
  const { view } = c.var;
  const { t } = view;
  // The browser sends empty fields too. An empty field does not filter.
  const parameterOf = (name: keyof RefusalFilterFields) => c.req.query(name)?.trim() ?? "";
  const fields = {
    appid: parameterOf("appid"),
    reason: parameterOf("reason"),
    operation: parameterOf("operation"),
    from: parameterOf("from"),
    to: parameterOf("to"),
  };
  const errors: Record<string, string> = {};
  const time = (name: "from" | "to"): number | undefined => {
    if (fields[name] === "") return undefined;
    const at = secondsOf(fields[name], view.timeZone, name === "to");
    if (at === undefined) errors[name] = t("Must be a date and a time");
    return at;
  };
  const [since, until] = [time("from"), time("to")];
  const isAppid = fields.appid === "" || refusalQuerySchema.shape.appid.safeParse(fields.appid).success;
  const reason = REFUSAL_REASONS.find((each) => each === fields.reason);
  const operation = OPERATIONS.find(({ wireName }) => wireName === fields.operation)?.wireName;
  if (!isAppid) errors.appid = t("Must be 1 to 64 of A–Z a–z 0–9 _ -.");
  if (fields.reason !== "" && reason === undefined) errors.reason = t("There is no such reason");
  if (fields.operation !== "" && operation === undefined) errors.operation = t("There is no such call");
  const appid = fields.appid === "" || !isAppid ? undefined : fields.appid;
  return { fields, filter: { appid, reason, operation, since, until }, errors };
}

/** Links to usual times. They keep the other filters. */
export function quickTimes(
  c: PageContext,
  path: string,
  fields: RefusalFilterFields,
): { label: string; href: string }[] {
  const { view } = c.var;
  const { now, timeZone, t } = view;
  const since = (at: number) => localTime(at, timeZone).slice(0, 16);
  return [
    { label: t("Last hour"), from: since(now - HOUR) },
    { label: t("Today"), from: `${localTime(now, timeZone).slice(0, 10)}T00:00` },
    { label: t("Last 24 hours"), from: since(now - 24 * HOUR) },
  ].map(({ label, from }) => ({ label, href: filteredPath(path, { ...fields, from, to: "" }) }));
}
