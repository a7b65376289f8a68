import { MAIN_HOME } from "../../../core/homes.ts";
import { noteHome } from "../../http/context.ts";
import { LIMIT_MS } from "../../services/attention.ts";
import { readHealth } from "../../services/health.ts";
import { type ListedSite, pageOfRanked, rankSites, sitesToRank } from "../../services/listed-sites.ts";
import { createSite, newSiteSchema, type Site } from "../../services/sites.ts";
import { sitePath } from "../console-path.ts";
import type { PageContext } from "../env.ts";
import { enteredFields, formAction, wholeNumber } from "../forms/form-action.ts";
import { doneLocation, type FilledForm } from "../forms/messages.ts";
import { showPage } from "../layout.tsx";
import { Action, type Fields, FieldsForm, Fold, FormErrors, FormFields } from "../parts/form.tsx";
import { type FilterFields, List } from "../parts/list.tsx";
import { Ago, Badge, LinkLine, NameLink } from "../parts/parts.tsx";
import { SiteState } from "../parts/site-frame.tsx";
import { visibleName } from "../parts/unseen.tsx";
import { AttentionList, readNeeds, switchedOffParts } from "./attention-list.tsx";

export async function postSite(c: PageContext): Promise<Response> {
  const { view, ctx, t, form } = c.var;
  const { name = "", home = MAIN_HOME, first_chat_id = "" } = form;
  const checked = newSiteSchema.safeParse({ name, home, first_chat_id: wholeNumber(first_chat_id) });
  const isUnknown = checked.success && !ctx.config.homes.has(home);
  return formAction(c, {
    entered: isUnknown ? { errors: { home: t("Choose one of the homes.") } } : enteredFields(view, checked),
    page: (filledForm) => sitesPage(c, filledForm),
    list: "/console",
    work: async ({ name, first_chat_id: firstChatId }) => {
      noteHome(c, home);
      const site = await createSite(ctx, { name, home, firstChatId });
      return doneLocation(c, sitePath(site), "site");
    },
  });
}

/** The front page: what needs attention, and the sites, the most called first. It asks up to 500 sites' homes for a second at most. */
export async function sitesPage(c: PageContext, filled?: FilledForm): Promise<Response> {
  const { view, ctx, t } = c.var;
  const { number, time, exactTime, session } = view;
  const { q = "", cursor } = c.req.query();
  const text = q.trim();
  /** The choices of the filter by status, each with the statuses in the directory that it means. */
  const choices: [value: string, label: string, statuses: Site["status"][]][] = [
    ["open", t("Open"), ["open"]],
    ["closed", t("Closed"), ["closed"]],
    ["trouble", t("In trouble"), ["creating", "open", "closed"]],
    ["deleting", t("Being deleted"), ["deleting"]],
  ];
  const [status, , statuses] = choices.find(([value]) => value === c.req.query("status")) ?? [""];
  const toRank = await sitesToRank(ctx, { cursor, filter: { text, ...(statuses && { statuses }) } });
  const { sites, nextAfter, place } = toRank;
  const health = await readHealth(ctx, LIMIT_MS, session?.identity.onlySite ? sites[0]?.home : undefined);
  const { attention, needs, troubleOf } = await readNeeds(c, sites, health);
  const { ranked, unknownHomes } = await rankSites(ctx, toRank, attention.homes);
  const risen = new Set(attention.risen.map(({ siteId }) => siteId));
  const isInTrouble = ({ site, activity }: ListedSite) =>
    site.status === "creating" || troubleOf(site) !== "none" || Boolean(activity?.troubled) || risen.has(site.id);
  const wanted = status === "trouble" ? ranked.filter(isInTrouble) : ranked;
  const { items, nextCursor } = pageOfRanked(toRank, { ranked: wanted, unknownHomes }, 50);
  const isFiltered = text !== "" || status !== "";
  const isFirst = sites.length === 0 && !isFiltered && cursor === undefined;
  // When only `main` is bound, a site may still be in a home that was bound before.
  const showsHomes = view.hasHomes || items.some(({ site: { home } }) => home !== MAIN_HOME);
  const [until, now] = [time(place.until), exactTime(view.now)];
  const limits = [
    !isFirst && t("The calls are those of the 24 hours until {0}. Looked at {1}.", until, now),
    unknownHomes.length > 0 && t("Not asked, so their sites stand last: {0}.", unknownHomes.join(t(", "))),
    nextAfter !== null &&
      t("{0} sites were looked through; the last pages lead to further ones.", number(sites.length)),
  ];
  const fields: FilterFields = {
    status: { label: t("Status"), value: status, options: choices.map(([value, label]) => [value, label]) },
    q: { label: t("Site or its ID"), value: text, maxlength: 100 },
  };
  // What was looked for comes first.
  const attentionList = <AttentionList needs={needs} namesSites />;
  const { errors, form } = newSite(c.var, filled, isFirst);
  const body = (
    <>
      {errors}
      {isFirst && <p class="lead">{t("A site is one company or brand: it has its own apps, agents and sessions.")}</p>}
      {!isFirst && !isFiltered && attentionList}
      {cursor === undefined && switchedOffParts(view, health.parts)}
      <List
        path="/console"
        label={t("Sites")}
        add={form}
        filter={!isFirst && { fields }}
        head={[
          t("Name"),
          { label: "ID", phone: "hide" },
          ...(showsHomes ? [{ label: t("Home"), phone: "hide" as const }] : []),
          { label: t("Status"), phone: "top" },
          { label: t("Calls"), end: true },
          { label: t("Refused"), end: true },
          t("Webhooks"),
          { label: t("Created"), phone: "hide" },
        ]}
        rows={items.map(({ site, activity }) => [
          <NameLink class="clip" href={sitePath(site)} name={visibleName(site)} />,
          site.id,
          ...(showsHomes ? [site.home] : []),
          <div class="buttons">
            <SiteState {...site} trouble={troubleOf(site)} />
            {site.status === "creating" && (
              <Action action={sitePath(site, "/finish")} label={t("Finish")} about={site.name} />
            )}
          </div>,
          activity ? number(activity.calls) : t("not known"),
          activity ? number(activity.refused) : "–",
          activity && activity.webhooks > 0 && (
            <a href={sitePath(site, "/webhooks")}>
              {activity.troubled === 0 ? (
                t("webhooks: {0}", activity.webhooks)
              ) : (
                <Badge kind="bad" label={t("webhooks: {0} fail", activity.troubled)} />
              )}
            </a>
          ),
          <Ago at={site.createdAt} />,
        ])}
        empty={isFiltered ? t("No site matches.") : t("There is no site yet.")}
        lookedTo={limits.filter(Boolean).join(" ")}
        cursor={nextCursor}
      />
      {isFiltered && attentionList}
      {view.may("/console/metrics", "GET") && <LinkLine href="/console/metrics" label={t("Metrics and alerts")} />}
    </>
  );
  return showPage(c, { title: t("Sites"), filled, body });
}

/** The form that creates a site. Its last field is for owners. */
function newSite({ view, ctx, t }: PageContext["var"], filled: FilledForm | undefined, isFirst: boolean) {
  const homeNames = [...ctx.config.homes.keys()];
  const fields = {
    name: { label: t("Name"), required: true, maxlength: 100 },
    home: {
      label: t("Home"),
      value: MAIN_HOME,
      hint: t("The database that holds the site's data. Choose the one nearest to its callers: it stays."),
      options: homeNames.map((home) => [home, view.closedHomes.has(home) ? t("{0} (closed)", home) : home]),
    },
    first_chat_id: {
      label: t("First chat_id"),
      hint: t("For callers who come from another service: above every chat_id they have. Left empty, it is 1."),
      inputmode: "numeric",
      maxlength: 16,
    },
  } satisfies Fields;
  const { name, home, first_chat_id } = fields;
  const shown = { name, ...(view.hasHomes && { home }) };
  return {
    errors: <FormErrors filled={filled} fields={fields} />,
    form: (
      <Fold action="/console/sites" label={t("Create a site")} open={filled !== undefined || isFirst}>
        <section class="card">
          <FieldsForm action="/console/sites" fields={shown} filled={filled} button={t("Create site")}>
            {view.session?.identity.role === "owner" && (
              <details open={Boolean(filled?.values.first_chat_id)}>
                <summary>{t("Begin at another chat_id")}</summary>
                <FormFields fields={{ first_chat_id }} filled={filled} />
              </details>
            )}
          </FieldsForm>
        </section>
      </Fold>
    ),
  };
}
