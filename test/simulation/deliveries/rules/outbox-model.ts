import type { Row, RowChange } from "../../platform/database.ts";

/** The events, webhooks and deliveries of one home. */
export class OutboxModel {
  /** Events, by site and seq. */
  readonly events = new Map<string, Row>();
  /** Webhooks, by site and id. */
  readonly webhooks = new Map<string, Row>();
  /** Deliveries, by site, webhook and seq. */
  readonly deliveries = new Map<string, Row>();

  apply({ table, before, after }: RowChange): void {
    const row = (after ?? before) as Row;
    const rows = table === "events" ? this.events : table === "webhooks" ? this.webhooks : this.deliveries;
    if (after === null) rows.delete(keyOf(table, row));
    else rows.set(keyOf(table, row), after);
  }

  /** The seq of a site's newest event; 0 when it has none. */
  newestSeq(siteId: number): number {
    const siteEvents = [...this.events.values()].filter(({ site_id }) => site_id === siteId);
    return Math.max(0, ...siteEvents.map(({ seq }) => Number(seq)));
  }

  webhooksOf(siteId: number): Row[] {
    return [...this.webhooks.values()].filter(({ site_id }) => site_id === siteId);
  }

  eventOf({ site_id, seq }: Row): Row | undefined {
    return this.events.get(`${site_id}/${seq}`);
  }

  webhookOf({ site_id, webhook_id }: Row): Row | undefined {
    return this.webhooks.get(`${site_id}/${webhook_id}`);
  }

  deliveriesOf({ site_id, id }: Row): Row[] {
    return [...this.deliveries.values()].filter((each) => each.site_id === site_id && each.webhook_id === id);
  }
}

/** The key of a row of these tables. */
export const keyOf = (table: string, row: Row): string => {
  if (table === "events") return `${row.site_id}/${row.seq}`;
  return table === "webhooks" ? `${row.site_id}/${row.id}` : `${row.site_id}/${row.webhook_id}/${row.seq}`;
};

export const isOutbox = (table: string): boolean =>
  table === "events" || table === "webhooks" || table === "deliveries";

/** Whether a webhook gets events of a type: docs/operating/webhooks.md. */
export const wantsType = ({ status, events }: Row, type: string): boolean =>
  status === "enabled" && (JSON.parse(String(events)) as string[]).includes(type);
