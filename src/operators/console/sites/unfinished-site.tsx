import { finishSite, type Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { doneLocation } from "../forms/messages.ts";
import { readForm } from "../forms/read-form.ts";
import { isDraft } from "../forms/submit-once.ts";
import { showPage } from "../layout.tsx";
import { Form } from "../parts/form.tsx";
import { Time } from "../parts/parts.tsx";

/**
 * Answers the button that finishes a site whose home did not answer when it was created. The operator may press it until the home
 * answers. It does not use `once`, because a second press changes nothing.
 */
export async function postFinish(c: PageContext, site: Site): Promise<Response> {
  const path = `/console/sites/${site.id}`;
  if (await isDraft(c, await readForm(c))) return c.redirect(await doneLocation(c, path, "draft"), 303);
  if (site.status === "creating") await finishSite(c.var.ctx, { site });
  return c.redirect(await doneLocation(c, path, "site"), 303);
}

export async function unfinishedPage(c: PageContext, site: Site): Promise<Response> {
  const view = c.var.view;
  const { t } = view;
  const body = (
    <>
      <section class="card">
        <p>
          {t(
            "This site was begun, but its home does not have it yet: the home did not answer. Finish it as soon as the home answers; until then it has no apps and no agents.",
          )}
        </p>
        <dl class="facts">
          <dt>{t("Home")}</dt>
          <dd>{site.home}</dd>
          <dt>{t("First chat_id")}</dt>
          <dd>{site.firstChatId}</dd>
          <dt>{t("Begun")}</dt>
          <dd>
            <Time at={site.createdAt} />
          </dd>
        </dl>
        <Form action={`/console/sites/${site.id}/finish`}>
          <button type="submit">{t("Finish this site")}</button>
        </Form>
      </section>
    </>
  );
  return showPage(c, { title: site.name, site: { ...site, tab: "overview" }, body });
}
