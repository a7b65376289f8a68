import type { createToken } from "../../services/tokens.ts";
import type { PageContext } from "../env.ts";
import { showPage } from "../layout.tsx";
import { Copyable, NoticeBox, TimeUntil } from "../parts/parts.tsx";
import { roleText } from "../parts/role-texts.ts";
import { ExpiryOf, SiteOf, TOKENS_PATH } from "./token-table.tsx";

/** How long the page with a new token stays on the screen. */
const SHOWN_SECONDS = 600;

/** Shows a new token. It is shown only once. */
export function createdTokenPage(c: PageContext, made: Awaited<ReturnType<typeof createToken>>): Promise<Response> {
  const { view } = c.var;
  const { t } = view;
  // The browser opens the list after this time, so that the token does not stay on the screen.
  c.header("refresh", `${SHOWN_SECONDS}; url=${TOKENS_PATH}`);
  const body = (
    <>
      <NoticeBox kind="note" title={t("Copy the token now")}>
        <p>{t("It is shown on this page alone, and stored nowhere: only its hash is kept.")}</p>
        <p>{t("Whoever has it can do what its role may: keep it out of code, chats and tickets.")}</p>
      </NoticeBox>
      <section class="card">
        <dl class="facts">
          <dt>{t("Name")}</dt>
          <dd>
            <bdi>{made.name}</bdi>
          </dd>
          <dt>{t("Role")}</dt>
          <dd>{roleText(view, made.role)}</dd>
          <dt>{t("Site")}</dt>
          <dd>
            <SiteOf view={view} token={made} />
          </dd>
          <dt>{t("Expires")}</dt>
          <dd>
            <ExpiryOf view={view} token={made} />
          </dd>
          <Copyable id="token" label={t("Token")} text={made.token} />
          <dt>{t("Shown here until")}</dt>
          <dd>
            <TimeUntil at={view.now + SHOWN_SECONDS} />
          </dd>
        </dl>
        <a class="button" href={TOKENS_PATH}>
          {t("I have saved it")}
        </a>
      </section>
    </>
  );
  return showPage(c, { title: t("The token was made"), section: "tokens", back: TOKENS_PATH, body });
}
