import { deleteSite, readDeletion, siteDeletionSchema } from "../../services/delete-site.ts";
import type { Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { formAction } from "../forms/form-action.ts";
import type { FilledForm } from "../forms/messages.ts";
import { readForm } from "../forms/read-form.ts";
import { showPage } from "../layout.tsx";
import { Ask } from "../parts/ask.tsx";
import { AskLink, Field, FormErrors } from "../parts/form.tsx";
import { NoticeBox } from "../parts/parts.tsx";
import type { View } from "../view.ts";
import { deletePath, overviewPath, settingsPath } from "./site-paths.ts";

/** A name has up to 100 characters. Browsers count UTF-16 units, and a character has up to two of them. */
const MOST_UNITS = 200;

/** Answers the form that begins a deletion, and the button that sends this form again when the beginning failed halfway. */
export async function postDelete(c: PageContext, site: Site): Promise<Response> {
  const form = await readForm(c);
  const { name = "" } = form;
  const checked = siteDeletionSchema.safeParse({ name });
  return formAction(c, form, {
    values: { name },
    entered: checked.success
      ? { input: checked.data }
      : { errors: { name: c.var.view.t("Must be the name of this site") } },
    page: (filledForm) => deletePage(c, site, filledForm),
    list: overviewPath(site),
    work: async (input) => {
      await deleteSite(c.var.ctx, { site, name: input.name });
      return overviewPath(site);
    },
  });
}

/** Says what is deleted and what stays, and asks for the name of the site. */
export async function deletePage(c: PageContext, site: Site, filledForm?: FilledForm): Promise<Response> {
  const { ctx, view } = c.var;
  const { t } = view;
  const isServed = site.status === "open" || site.status === "closed";
  if (!isServed || (await readDeletion(ctx, { site })) !== undefined) return c.redirect(overviewPath(site), 303);
  const path = deletePath(site);
  const ask = (
    <>
      <FormErrors filled={filledForm} fields={{ name: t("The site's name") }} />
      <NoticeBox kind="note" title={t("Is what it holds still needed?")}>
        <p>
          {t("Export it before: an owner's token gets all of it from")} <code>GET /admin/sites/{site.id}/export</code>
        </p>
      </NoticeBox>
      <DeletedParts view={view} />
      <Ask
        text={t("It begins at once and cannot be called off. Nobody can undo it.")}
        facts={
          <>
            <dt>{t("Name")}</dt>
            <dd>
              <bdi>{site.name}</bdi>
            </dd>
            <dt>ID</dt>
            <dd>{site.id}</dd>
          </>
        }
        action={path}
        fields={
          <Field
            label={t("The site's name")}
            name="name"
            value={filledForm?.values.name}
            error={filledForm?.errors.name}
            hint={t("Type it as it stands above, so that nobody deletes another site by a slip.")}
            required
            maxlength={MOST_UNITS}
          />
        }
        button={t("Delete this site now")}
        keep={t("Cancel")}
        back={settingsPath(site)}
      />
    </>
  );
  const body = site.status === "open" ? <OpenSiteNotice view={view} site={site} /> : ask;
  const page = { title: t("Delete this site?"), site: { ...site, tab: "settings" as const }, body };
  return showPage(c, { ...page, filled: filledForm });
}

function OpenSiteNotice({ view, site }: { view: View; site: Site }) {
  const { t } = view;
  return (
    <NoticeBox kind="bad" title={t("This site is open")}>
      <p>{t("Only a closed site can be deleted. Close it first, and look whether anybody still calls it.")}</p>
      <AskLink href={`/console/sites/${site.id}/close`}>{t("Close this site…")}</AskLink>
    </NoticeBox>
  );
}

function DeletedParts({ view }: { view: View }) {
  const { t } = view;
  return (
    <section class="card goes">
      <div>
        <h2>{t("What goes")}</h2>
        <ul class="stays">
          <li>{t("Its apps, at once: their calls are refused as those of unknown apps.")}</li>
          <li>{t("Its webhooks, at once: they get nothing more, not even what is pending.")}</li>
          <li>
            {t(
              "All its data, in steps by the cron: sessions, messages, customers, agents, events and refused calls. Its page shows how far it is.",
            )}
          </li>
          <li>{t("Tokens that open this site alone, when all data has gone.")}</li>
        </ul>
      </div>
      <div>
        <h2>{t("What stays")}</h2>
        <ul class="stays">
          <li>{t("Its appids, for 31 days after that: until then no site can get them.")}</li>
          <li>{t("Its rows of the audit log, and its id, which no other site ever gets.")}</li>
          <li>
            {t(
              "D1's Time Travel, for 30 days: until then a restore can bring it back, and settling it deletes it again.",
            )}
          </li>
          <li>{t("What callers and receivers of webhooks have stored.")}</li>
        </ul>
      </div>
    </section>
  );
}
