import type { Child } from "hono/jsx";
import { isVisible } from "../../../core/fields.ts";
import type { Attention } from "../../services/attention.ts";
import { BINDINGS, type Health, type PartStates } from "../../services/health.ts";
import type { HomeFill } from "../../services/home-fill.ts";
import type { Site } from "../../services/sites.ts";
import { type SiteTrouble, troubleTexts } from "../parts/home-state.tsx";
import { Icon } from "../parts/icons.tsx";
import { Ago, Badge, type BadgeKind, TimeUntil } from "../parts/parts.tsx";
import { reasonLabels } from "../reasons.ts";
import type { View } from "../view.ts";
import { resultWords } from "../webhooks/failure-words.ts";
import { hostOf } from "../webhooks/webhook-of.tsx";

/** How many rows are visible at first. The others are folded. */
const MOST_SHOWN = 4;

/** Something that needs an operator. */
export interface Need {
  kind: BadgeKind;
  /** The kind of trouble, in a word or two. */
  label: string;
  /** The thing in trouble, mostly as a link, and what is known about it. */
  about: Child;
  site?: Pick<Site, "id" | "name"> | undefined;
  /** When the trouble began, or when it ends. */
  when?: Child;
}

/** The troubles of sites that need an operator, the most urgent first. Rows whose page the reader may not open are left out. */
export function needsOf(
  view: View,
  { webhooks, overlaps, risen, homes, notCompared }: Attention,
  sites: readonly Site[],
): Need[] {
  const { t } = view;
  const sitesById = new Map(sites.map((site) => [site.id, site]));
  const pathOf = (siteId: number) => `/console/sites/${siteId}`;
  const labels = reasonLabels(view);
  const number = new Intl.NumberFormat(view.language, { maximumFractionDigits: 1 });
  return [
    ...[...homes].map(([home, trouble]): Need => {
      const [label, words] = troubleTexts(view)[trouble];
      return {
        kind: trouble === "closed" ? "wait" : "bad",
        label,
        about: (
          <>
            {view.may("/console/homes", "GET") ? <a href="/console/homes">{home}</a> : home} {words}
          </>
        ),
      };
    }),
    ...webhooks.map((webhook): Need => {
      const { id, siteId, url, disabledReason, since } = webhook;
      return {
        kind: "bad",
        label: disabledReason === null ? t("Webhook failing") : t("Webhook stopped"),
        about: (
          <>
            <a href={`${pathOf(siteId)}/webhooks/${id}`}>{hostOf({ url })}</a>{" "}
            <bdi>{resultWords(view, webhook)?.words}</bdi>
          </>
        ),
        site: sitesById.get(siteId),
        when: since > 0 && <Ago at={since} />,
      };
    }),
    ...risen.map(
      ({ siteId, reason, count, daily }): Need => ({
        kind: "bad",
        label: t("More refused calls"),
        about: (
          <>
            <a href={`${pathOf(siteId)}/refusals?${new URLSearchParams({ reason })}`}>{labels.get(reason) ?? reason}</a>{" "}
            {t(
              "{0} in the last 24 hours counted; in the week before, {1} a day.",
              number.format(count),
              number.format(daily),
            )}
          </>
        ),
        site: sitesById.get(siteId),
      }),
    ),
    ...(notCompared.length === 0
      ? []
      : [
          {
            kind: "wait" as const,
            label: t("Not known"),
            about: t("Refused calls could not be compared with the week before. Try again in a moment."),
          },
        ]),
    ...overlaps.map(
      ({ siteId, kind, id, name, endsAt }): Need => ({
        kind: "wait",
        label: t("Old secret ends"),
        about: (
          <a href={`${pathOf(siteId)}/${kind === "app" ? "apps" : "webhooks"}/${id}`}>
            <bdi>{kind === "app" ? name : hostOf({ url: name })}</bdi>
          </a>
        ),
        site: sitesById.get(siteId),
        when: <TimeUntil at={endsAt} />,
      }),
    ),
    ...sites
      .filter(({ status }) => status === "creating")
      .map(
        (site): Need => ({
          kind: "wait",
          label: t("Unfinished site"),
          about: <a href={pathOf(site.id)}>{visibleName(site)}</a>,
        }),
      ),
  ];
}

/** For each binding: a label and the effect when it does not answer, and the effect when it is not bound. */
const bindingTexts = ({ t }: View): Record<(typeof BINDINGS)[number], [label: string, down: string, off: string]> => ({
  nonces: [
    t("KV down"),
    t("NONCES does not answer: D1 alone looks for a used ranstr."),
    t("NONCES is not bound: D1 alone looks for a used ranstr."),
  ],
  credentials: [
    t("KV down"),
    t("CREDENTIALS does not answer: apps are found more slowly; erasing and deleting fail."),
    t("CREDENTIALS is not bound: what must survive a restore is in D1 alone."),
  ],
  events: [
    t("Queue down"),
    t("EVENTS does not answer: events are not delivered."),
    t("EVENTS is not bound: webhooks get nothing."),
  ],
  journal: [
    t("Queue down"),
    t("JOURNAL does not answer: refused calls are in the log only."),
    t("JOURNAL is not bound: refused calls are in the log only."),
  ],
});

/** The troubles of the whole deployment that need an operator, without those of its homes. */
export function partsInNeed(view: View, { parts, isKeyWrong }: Health): Need[] {
  const badNeed = (label: string, about: string): Need => ({ kind: "bad", label, about });
  return [
    ...(isKeyWrong ? [badNeed(...troubleTexts(view).wrong_key)] : []),
    ...BINDINGS.filter((name) => parts[name] === "down").map((name) => {
      const [label, down] = bindingTexts(view)[name];
      return badNeed(label, down);
    }),
  ];
}

/** Why a site takes no calls although it is open. */
export const troubleOf = (
  { home }: Pick<Site, "home">,
  { homes }: Attention,
  { isKeyWrong }: Health,
): SiteTrouble | undefined => homes.get(home) ?? (isKeyWrong ? "wrong_key" : undefined);

/** Names the missing bindings, in case somebody forgot them. Many deployments leave them out on purpose. */
export function SwitchedOffParts({ view, parts }: { view: View; parts: PartStates }) {
  return (
    <>
      {BINDINGS.filter((name) => parts[name] === "off").map((name) => (
        <p class="hint">{bindingTexts(view)[name][2]}</p>
      ))}
    </>
  );
}

/** The homes that are nearly full. They need an operator before D1 refuses writes. */
export function fillingHomes(view: View, fills: readonly HomeFill[]): Need[] {
  const { t } = view;
  const share = new Intl.NumberFormat(view.language, { style: "percent", maximumFractionDigits: 0 });
  return fills
    .filter(({ isFilling }) => isFilling)
    .map(
      ({ home, bytes, limit, fullAt }): Need => ({
        kind: "wait",
        label: t("Home fills"),
        about: (
          <>
            <a href="/console/homes">{home}</a>{" "}
            {fullAt === null
              ? t("is {0} full.", share.format((bytes ?? 0) / limit))
              : t(
                  "is {0} full, and will take nothing more from about {1}.",
                  share.format((bytes ?? 0) / limit),
                  view.day(fullAt),
                )}
          </>
        ),
      }),
    );
}

/**
 * The first part of a workspace: the troubles that need an operator now. Without any, it is one short line.
 *
 * @param props `namesSites`: whether each row names its site, as on pages of several sites
 */
export function AttentionList({ view, needs, namesSites }: { view: View; needs: Need[]; namesSites?: boolean }) {
  const { t } = view;
  if (needs.length === 0) {
    return (
      <p class="calm">
        <Icon name="check" />
        {t("Nothing needs attention.")}
      </p>
    );
  }
  const item = (need: Need) => (
    <li>
      <span class="kind">
        <Badge kind={need.kind} label={need.label} />
      </span>
      <p class="about">{need.about}</p>
      {namesSites && need.site && (
        <a class="where" href={`/console/sites/${need.site.id}`}>
          {visibleName(need.site)}
        </a>
      )}
      {need.when && <span class="when">{need.when}</span>}
    </li>
  );
  return (
    <section class="part attention" aria-labelledby="attention">
      <h2 id="attention">
        {t("Needs attention")} <span class="count">{needs.length}</span>
      </h2>
      <ul class="needs">{needs.slice(0, MOST_SHOWN).map(item)}</ul>
      {needs.length > MOST_SHOWN && (
        <details>
          <summary>{t("Show {0} more", needs.length - MOST_SHOWN)}</summary>
          <ul class="needs">{needs.slice(MOST_SHOWN).map(item)}</ul>
        </details>
      )}
    </section>
  );
}

const visibleName = ({ id, name }: Pick<Site, "id" | "name">) => <bdi>{isVisible(name) ? name : `(${id})`}</bdi>;
