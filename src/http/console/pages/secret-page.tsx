import type { RequestContext } from "../../context.ts";
import { show } from "../layout.tsx";
import { Copyable, Notice, Until } from "../parts.tsx";

/** The one answer that shows a secret. It is not redirected to, because nothing could show it again. */
export function secretPage(
  c: RequestContext,
  site: { id: number; name: string },
  shown: { title: string; appid: string; secret: string; previousExpiresAt?: number },
): Response {
  const v = c.var.view;
  const { t } = v;
  const path = `/console/sites/${site.id}/apps/${shown.appid}`;
  const body = (
    <>
      <Notice kind="note" title={t("Copy the secret now")}>
        <p>
          {t(
            "It is shown this once and stored sealed. Whoever has it can call as this app: keep it out of code, chats and tickets.",
          )}
        </p>
      </Notice>
      <section class="card">
        <dl class="facts">
          <Copyable v={v} id="appid" label="appid" text={shown.appid} />
          <Copyable v={v} id="secret" label={t("Secret")} text={shown.secret} />
          {shown.previousExpiresAt !== undefined && shown.previousExpiresAt > v.now && (
            <>
              <dt>{t("Previous secret until")}</dt>
              <dd>
                <Until v={v} at={shown.previousExpiresAt} />
              </dd>
            </>
          )}
        </dl>
        <a class="button" href={path}>
          {t("I have kept it")}
        </a>
      </section>
    </>
  );
  return show(c, { title: shown.title, site: { ...site, tab: "apps" }, back: path, body });
}
