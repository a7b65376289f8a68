import type { Child } from "hono/jsx";
import { isVisible } from "../../../core/fields.ts";
import type { SearchResult } from "../../services/search.ts";
import type { Column } from "../parts/table.tsx";
import type { View } from "../view.ts";
import { shownUrl } from "../webhooks/webhook-of.tsx";

/** What the findings of each kind share. */

export interface FindingsContext {
  view: View;
  result: SearchResult;
}

export interface FoundKind {
  title: Child;
  /** The name of the table, for screen readers. */
  label: string;
  note?: Child;
  head: (string | Column)[];
  rows: Child[][];
  /** Whether there are more findings than the rows. */
  hasMore?: boolean;
}

/** The column of the site, which a table has only when the findings are of several sites. */
export const siteHead = ({ view, result }: FindingsContext) => (result.sites.size > 1 ? [view.t("Site")] : []);

export const siteCell = ({ result }: FindingsContext, siteId: number): Child[] =>
  result.sites.size > 1 ? [<SiteLink result={result} siteId={siteId} />] : [];

/** A link whose text is a name. When the name is invisible, `otherwise` replaces it. */
export const NameLink = ({ href, name, otherwise }: { href: string; name: string; otherwise: string | number }) => (
  <a class="clip" href={href}>
    <bdi>{isVisible(name) ? name : `(${otherwise})`}</bdi>
  </a>
);

export const SiteLink = ({ result, siteId }: { result: SearchResult; siteId: number }) => (
  <NameLink href={`/console/sites/${siteId}`} name={result.sites.get(siteId)?.name ?? ""} otherwise={siteId} />
);

export const WebhookLink = ({ siteId, id, url }: { siteId: number; id: string; url: string }) => (
  <NameLink href={`/console/sites/${siteId}/webhooks/${id}`} name={shownUrl({ url })} otherwise={id} />
);
