import type { Row } from "../../platform/database.ts";
import type { Operation, Written } from "./intents.ts";
import { isReconciling } from "./row-changes.ts";

/** The details in each row of the audit log: docs/operating.md, "The audit log". */

/** The columns of `details` in alphabetical order, so that their order does not matter. */
export const sorted = (value: object): string => JSON.stringify(value, Object.keys(value).sort());

/** The origin of a webhook's URL; null for a URL that cannot be parsed. */
export const originOf = (url: unknown): string | null => URL.parse(String(url))?.origin ?? null;

const originAndTypes = ({ url, events }: Row) => ({
  origin: originOf(url),
  events: JSON.parse(String(events)) as string[],
});

/** What the details of a changed webhook say of the change: of the URL and the types, only what is another now. */
function changeOf(before: Row, after: Row): object {
  const isMoved = before.url !== after.url;
  const differing = (row: Row) => {
    const { origin, events } = originAndTypes(row);
    return { ...(isMoved && { origin }), ...(before.events !== after.events && { events }) };
  };
  const isSameHost = isMoved && originOf(before.url) === originOf(after.url);
  return { from: differing(before), to: differing(after), ...(isSameHost && { path: "changed" }) };
}

/**
 * @returns the details that an action may have. There is more than one when other calls change the same row, because
 *   the call may have seen any state of it
 */
export function detailsOf({ intent, rows }: Operation, action: string, { before, after }: Written): object[] {
  const row = (after ?? before) as Row;
  const fromTo = (read: (each: Row) => unknown) => ({ from: read(before ?? {}), to: read(row) });
  switch (action) {
    case "site.begun":
      return [{ name: row.name, home: row.home, first_chat_id: row.first_chat_id }];
    case "site.created":
      return [{ name: row.name, first_chat_id: Number(row.chat_id_floor) + 1 }];
    case "site.first_chat_id_set":
      return [{ first_chat_id: Number(row.chat_id_floor) + 1, ...fromTo((each) => Number(each.chat_id_floor) + 1) }];
    case "site.events_on":
    case "site.events_off":
      return [fromTo(({ events }) => events === 1)];
    case "site.retention_set":
      return [fromTo(({ retention_days }) => retention_days)];
    case "site.deletion_begun":
      return [{ name: intent.kind === "deleteSite" ? intent.name : "nobody asked for it", deletion_id: row.id }];
    case "site.renamed":
    case "agent.renamed":
      return [{ from: before?.name, to: row.name }];
    case "site.closed":
    case "site.opened":
    case "agent.enabled":
    case "agent.disabled":
      return [{ name: row.name, ...fromTo(({ status }) => status) }];
    case "agent.added":
    case "app.revoked":
      return [{ name: row.name }];
    case "app.routed":
      return [{ name: intent.kind === "issueApp" ? intent.name : "nobody asked for it" }];
    case "app.issued": {
      const brought = intent.kind === "issueApp" ? { appid: intent.appid, secret: intent.secret } : {};
      const imported = Object.entries(brought).flatMap(([field, value]) => (value === undefined ? [] : [field]));
      return [{ name: row.name, imported }];
    }
    case "app.rotated":
    case "webhook.rotated":
      return [
        {
          version: row.version,
          ...fromTo(({ version }) => version),
          previous_expires_at: row.previous_expires_at,
          ...("ends" in intent && intent.ends !== undefined && { ends: intent.ends }),
        },
      ];
    case "app.overlap_ended":
    case "webhook.overlap_ended":
      return [{ version: row.version, previous_version: before?.previous_version }];
    case "webhook.added":
      return [originAndTypes(row)];
    case "webhook.changed":
      return [{ ...originAndTypes(row), ...changeOf(before ?? {}, row) }];
    case "webhook.enabled":
    case "webhook.disabled":
      return [{ ...originAndTypes(row), ...fromTo(({ status }) => status) }];
    case "webhook.deleted":
      return [row, ...rows].map(originAndTypes);
    default:
      return [{}];
  }
}

/**
 * @returns how the details of a re-sealing are wrong: they count the secrets of each kind that had to be re-sealed
 */
export function wrongResealing({ details }: Row, changes: readonly Written[]): string | undefined {
  const told = JSON.parse(String(details)) as Record<string, unknown>;
  const isEnough = ["apps", "webhooks"].every(
    (owners) => Number(told[owners]) >= changes.filter(({ table }) => table === owners).length,
  );
  const isAll = sorted(told) === sorted({ apps: Number(told.apps), webhooks: Number(told.webhooks) });
  return isEnough && isAll ? undefined : `the audit log says ${details} of what was sealed`;
}

/** @returns how the details of a reconciliation are wrong */
export function wrongReconciliation({ details }: Row, changes: readonly Written[], home: string, lift: number) {
  const noted = changes.find((change) => isReconciling(change, home))?.after;
  const expected = sorted({ lifted_by: lift, settling_id: noted?.id });
  const said = sorted(JSON.parse(String(details)) as object);
  return said === expected ? undefined : `the audit log says ${said} of the reconciliation, expected ${expected}`;
}
