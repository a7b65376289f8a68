import type { Child } from "hono/jsx";
import { readAttention } from "../../services/attention.ts";
import { BINDINGS, type Health, type PartStates } from "../../services/health.ts";
import { homeFill } from "../../services/home-fill.ts";
import type { Site } from "../../services/sites.ts";
import { sitePath } from "../console-path.ts";
import type { PageContext } from "../env.ts";
import { Ago, Badge, type BadgeKind, Icon, MayLink, NameLink, TimeUntil } from "../parts/parts.tsx";
import { type SiteTrouble, troubleTexts } from "../parts/site-frame.tsx";
import { visibleName } from "../parts/unseen.tsx";
import { reasonLabels } from "../reasons.ts";
import { useView, type View } from "../view.ts";
import { resultWords } from "../webhooks/webhook-health.tsx";
import { hostOf } from "../webhooks/webhook-of.tsx";

/** How many rows are visible at first. The others are folded. */
const MOST_SHOWN = 4;

/** Something that needs an operator. */
type Need = Awaited<ReturnType<typeof readNeeds>>["needs"][number];

/**
 * Reads what needs an operator at these sites: first the parts of the deployment, then homes that fill, then the sites' own troubles, the
 * most urgent first. Rows whose page the reader may not open are left out. Works without the directory, which may be down.
 */
export async function readNeeds(c: PageContext, sites: readonly Site[], health: Health) {
  const { ctx, view, t } = c.var;
  const [attention, fills] = await Promise.all([
    readAttention(ctx, sites, health),
    view.may("/console/homes", "GET") ? homeFill(ctx).catch(() => []) : [],
  ]);
  /** Why a site takes no calls although it is open. */
  const troubleOf = ({ home }: Site): SiteTrouble | "none" =>
    attention.homes.get(home) ?? (health.isKeyWrong ? "wrong_key" : "none");
  const sitesById = new Map(sites.map((site) => [site.id, site]));
  const labels = reasonLabels(view);
  const number = new Intl.NumberFormat(view.language, { maximumFractionDigits: 1 }).format;
  const percent = new Intl.NumberFormat(view.language, { style: "percent" }).format;
  const link = (siteId: number, page: string, text: Child) => <a href={sitePath({ id: siteId }, page)}>{text}</a>;
  const homeLink = (home: string) => <MayLink href="/console/homes">{home}</MayLink>;
  /** `about` names the thing in trouble, mostly as a link, and says what is known about it. `when` it began, or ends. */
  const need = (kind: BadgeKind, label: string, about: Child, siteId = 0, when?: Child) => {
    return { kind, label, about, when, site: sitesById.get(siteId) };
  };
  const needs = [
    ...(health.isKeyWrong ? [need("bad", ...troubleTexts(view).wrong_key)] : []),
    ...BINDINGS.filter((name) => health.parts[name] === "down").map((name) => {
      const label = name === "nonces" || name === "credentials" ? t("KV down") : t("Queue down");
      return need("bad", label, t("{0} does not answer: {1}", name.toUpperCase(), bindingTexts(view)[name][0]));
    }),
    // A home that is nearly full needs an operator before D1 refuses writes.
    ...fills.flatMap(({ home, bytes, limit, fullAt, isFilling }) => {
      if (!isFilling || !(home in health.homes)) return [];
      const share = percent((bytes ?? 0) / limit);
      const words =
        fullAt === null
          ? t("is {0} full.", share)
          : t("is {0} full, and will take nothing more from about {1}.", share, view.day(fullAt));
      return need("wait", t("Home fills"), [homeLink(home), " ", words]);
    }),
    ...[...attention.homes].map(([home, trouble]) => {
      const [label, words] = troubleTexts(view)[trouble];
      return need(trouble === "closed" ? "wait" : "bad", label, [homeLink(home), " ", words]);
    }),
    ...attention.webhooks.map((webhook) => {
      const { id, siteId, disabledReason, since } = webhook;
      const label = disabledReason === null ? t("Webhook failing") : t("Webhook stopped");
      const words = <bdi>{resultWords(view, webhook)?.words}</bdi>;
      const about = [link(siteId, `/webhooks/${id}`, hostOf(webhook)), " ", words];
      return need("bad", label, about, siteId, since > 0 && <Ago at={since} />);
    }),
    ...attention.risen.map(({ siteId, reason, count, daily }) => {
      const calls = link(siteId, `/refusals?${new URLSearchParams({ reason })}`, labels.get(reason) ?? reason);
      const words = t("{0} in the last 24 hours counted; in the week before, {1} a day.", number(count), number(daily));
      return need("bad", t("More refused calls"), [calls, " ", words], siteId);
    }),
    ...attention.notCompared.slice(0, 1).map(() => {
      const words = t("Refused calls could not be compared with the week before. Try again in a moment.");
      return need("wait", t("Not known"), words);
    }),
    ...attention.overlaps.map(({ siteId, kind, id, name, endsAt }) => {
      const text = <bdi>{kind === "app" ? name : hostOf({ url: name })}</bdi>;
      const about = link(siteId, `/${kind}s/${id}`, text);
      return need("wait", t("Old secret ends"), about, siteId, <TimeUntil at={endsAt} />);
    }),
    ...sites
      .filter(({ status }) => status === "creating")
      .map((site) => need("wait", t("Unfinished site"), <NameLink href={sitePath(site)} name={visibleName(site)} />)),
  ];
  return { attention, needs, troubleOf };
}

/** For each binding: the effect when it does not answer, and when it is not bound. */
const bindingTexts = ({ t }: View): Record<(typeof BINDINGS)[number], [down: string, off?: string]> => ({
  nonces: [t("D1 alone looks for a used ranstr.")],
  credentials: [t("erasing and deleting fail; apps are found slowly."), t("only D1 has what must survive a restore.")],
  events: [t("events are not delivered."), t("webhooks get nothing.")],
  journal: [t("refused calls are in the log only.")],
});

/** Names the missing bindings, in case somebody forgot them. Many deployments leave them out on purpose. */
export const switchedOffParts = (view: View, parts: PartStates) =>
  BINDINGS.filter((name) => parts[name] === "off").map((name) => {
    const [down, off = down] = bindingTexts(view)[name];
    return <p class="hint">{view.t("{0} is not bound: {1}", name.toUpperCase(), off)}</p>;
  });

/** The first part of a workspace. @param props `namesSites`: whether each row names its site, as on pages of several sites */
export function AttentionList({ needs, namesSites }: { needs: Need[]; namesSites?: boolean }) {
  const { t } = useView();
  if (needs.length === 0)
    return (
      <p class="calm">
        <Icon name="check" />
        {t("Nothing needs attention.")}
      </p>
    );
  const list = (shown: Need[]) => (
    <ul class="needs">
      {shown.map(({ kind, label, about, site, when }) => (
        <li>
          <span class="kind">
            <Badge kind={kind} label={label} />
          </span>
          <p class="about">{about}</p>
          {namesSites && site && <NameLink class="where" href={sitePath(site)} name={visibleName(site)} />}
          {when && <span class="when">{when}</span>}
        </li>
      ))}
    </ul>
  );
  return (
    <section class="part attention" aria-labelledby="attention">
      <h2 id="attention">
        {t("Needs attention")} <span class="count">{needs.length}</span>
      </h2>
      {list(needs.slice(0, MOST_SHOWN))}
      {needs.length > MOST_SHOWN && (
        <details>
          <summary>{t("Show {0} more", needs.length - MOST_SHOWN)}</summary>
          {list(needs.slice(MOST_SHOWN))}
        </details>
      )}
    </section>
  );
}
