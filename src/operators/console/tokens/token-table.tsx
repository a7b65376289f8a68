import { isVisible } from "../../../core/fields.ts";
import type { Token } from "../../services/tokens.ts";
import { withParameter } from "../console-path.ts";
import { AskLink } from "../parts/form.tsx";
import { Ago, Badge, Time } from "../parts/parts.tsx";
import { roleText } from "../parts/role-texts.ts";
import { RowMenu } from "../parts/row-menu.tsx";
import { Table } from "../parts/table.tsx";
import type { View } from "../view.ts";

export const TOKENS_PATH = "/console/tokens";

/** Tokens, each with a link to the page that deletes it. That page leads back to this one. */
export function TokenTable({ view, tokens, empty }: { view: View; tokens: Token[]; empty: string }) {
  const { t } = view;
  const here = withParameter(view.here, "done");
  return (
    <Table
      label={t("Tokens")}
      head={[
        t("Name"),
        { label: t("Role"), phone: "top" },
        t("Site"),
        { label: t("Made"), phone: "hide" },
        t("Last used"),
        t("Expires"),
        { label: t("Actions"), phone: "top", end: true },
      ]}
      rows={tokens.map((token) => [
        <span class="pair">
          <bdi class="clip">{nameOf(token)}</bdi>
          <code class="hint appid" title={token.id}>
            {token.id}
          </code>
        </span>,
        roleText(view, token.role),
        <SiteOf view={view} token={token} />,
        <Ago at={token.createdAt} />,
        <LastUseOf view={view} token={token} />,
        <ExpiryOf view={view} token={token} />,
        <RowMenu label={t("Actions for {0}", nameOf(token))}>
          <AskLink href={withParameter(`${TOKENS_PATH}/${token.id}/delete`, "back", here)}>
            {t("Delete")}…<span class="unseen"> {nameOf(token)}</span>
          </AskLink>
        </RowMenu>,
      ])}
      empty={empty}
    />
  );
}

export const nameOf = ({ name, id }: Token): string => (isVisible(name) ? name : `(${id})`);

export function SiteOf({ view, token: { siteId } }: { view: View; token: Pick<Token, "siteId"> }) {
  return siteId === null ? view.t("all") : <a href={`/console/sites/${siteId}`}>{siteId}</a>;
}

/** The last use of a token, as an hour: the exact time is not stored. */
export function LastUseOf({ view, token: { lastUsedAt } }: { view: View; token: Pick<Token, "lastUsedAt"> }) {
  return lastUsedAt === null ? <span class="hint">{view.t("Never")}</span> : view.hour(lastUsedAt);
}

export function ExpiryOf({ view, token: { expiresAt } }: { view: View; token: Pick<Token, "expiresAt"> }) {
  if (expiresAt === null) return <>{view.t("never")}</>;
  if (expiresAt > view.now) return <Time at={expiresAt} />;
  return (
    <span class="pair">
      <Time at={expiresAt} />
      <Badge kind="off" label={view.t("Expired")} />
    </span>
  );
}
