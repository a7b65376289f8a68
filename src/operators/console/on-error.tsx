import { ConfigurationError } from "../../core/config.ts";
import { STATUS_OF } from "../../core/errors.ts";
import { bindingOfHome } from "../../core/homes.ts";
import { refusalOf, silentHome } from "../../core/http/faults.ts";
import { ROLES } from "../access/role.ts";
import { withParameter } from "./console-path.ts";
import { type PageContext, setView } from "./env.ts";
import { readForm } from "./forms/read-form.ts";
import { showPage } from "./layout.tsx";
import { Action } from "./parts/form.tsx";
import { roleText } from "./parts/grant.tsx";
import { ButtonLink, EmptyState, LinkLine } from "./parts/parts.tsx";
import type { FramedSite } from "./parts/site-frame.tsx";
import { englishView, type View } from "./view.ts";

type Words = readonly [title: string, text?: string];

const UNFINISHED_APP: Words = [
  "The app is not finished",
  "The appid {0} is kept for this site and may have no app yet. On its page it can be issued again, or released.",
];

/**
 * The titles and texts of the pages of errors, by reason or else by status, in English. zh.json has them in Chinese. A row with
 * `_home` counts when a home does not answer.
 */
export const ERRORS: Readonly<Record<string, Words>> = {
  configuration: ["A setting of the deployment is wrong", "Correct it and deploy again: {0}"],
  parameter_repeated: ["The address names a part twice", "“{0}” may stand in it once. Nothing was changed."],
  home_unbound: [
    "The home {0} has no database",
    "Its sites stop until one is bound as {1}. Those of other homes go on.",
  ],
  d1_not_migrated: ["A database is not migrated", "npm run deploy migrates all databases."],
  d1_not_migrated_home: ["The home {0} or the directory is not migrated", "npm run deploy migrates all databases."],
  site_unfinished: ["This site is unfinished", "Its home does not have it yet: finish it on its overview."],
  app_unfinished: UNFINISHED_APP,
  app_busy: UNFINISHED_APP,
  site_id_taken: [
    "The home has another site of this id",
    "The directory was restored to an earlier time: say so first, under Homes, main.",
  ],
  home_behind: [
    "Nothing was released",
    "The home was restored and lacks some of its sites: say so first, under Homes.",
  ],
  access_no_role: ["You have no role here", "Nobody has let {0} into this console. An owner can do it under “People”."],
  assertion_without_email: [
    "You have no role here",
    "What Cloudflare Access sent names no e-mail address: programs use a token and the admin API.",
  ],
  role_too_low: ["Your role does not allow this", "It needs the role {0} or higher. You are {1}, with the role {2}."],
  person_of_one_site: ["This is not part of your site", "It is about all sites, and you see one. Nothing was changed."],
  home_closed: [
    "A home is closed, so this cannot be done now",
    "The home of this site, or main, is closed. Nothing was changed: try again when it is open.",
  ],
  hash_key_unopened: [
    "No master key here opens the key of the customers' hashes",
    "Nothing was changed. If a new MASTER_KEY was just deployed, try again in a minute; else see docs/operating/sites-and-secrets.md, under “Rotating the master key”.",
  ],
  master_key_wrong: [
    "MASTER_KEY does not open what is sealed",
    "Nothing was changed. Set the master key that sealed it, as MASTER_KEY or MASTER_KEY_PREVIOUS.",
  ],
  erasure_lost: ["This erasure is gone", "The home was restored: say so first, under Homes. That erases again."],
  site_open: ["This site is open", "Close it first, in its settings. Nothing was deleted."],
  site_ending: [
    "The deletion of this site has begun",
    "It cannot be called off. Nothing was changed. Its overview shows how far it is.",
  ],
  home_open: ["This home is open", "Close it first. Nothing was changed."],
  site_not_remembered: ["The site is changed, but KV does not answer", "Send the same change again."],
  kv_unavailable: ["KV does not answer", "Not everything is done: open the page before this one, and send it again."],
  body_too_slow: ["That took too long to arrive", "A form must arrive in 5 s. Nothing was changed: send it again."],
  site_busy: ["Nothing was changed.", "Others create sites of this name at this moment. Try again."],
  changed_meanwhile: [
    "Somebody else changed it meanwhile",
    "The database was slow, and another change came between. Look at it, and send yours again if it is still wanted.",
  ],
  site_not_copied: ["The site is changed, but the list of sites does not show it yet", "Send the same change again."],
  400: ["That address does not make sense", "A part of it cannot be read."],
  403: ["This form came from elsewhere", "Only the console's own pages may send forms here. Nothing was changed."],
  404: ["There is no such page", "Nothing here goes by that address."],
  413: ["That is too long", "Nothing was changed."],
  429: ["That was too much at once", "Wait {0} seconds, and then try again. Nothing was changed."],
  503: ["The database does not answer"],
  other: ["Something went wrong", "The log has the details under this id:"],
  "503_home": ["The home {0} or the directory does not answer"],
};

/** The rows whose text leaves open what became of a form. Rows without a text leave it open too. */
const WITHOUT_OUTCOME = /^(configuration|home_unbound|d1_not_migrated(_home)?|role_too_low|other)$/;

const HOMES = "/console/homes";

/** Answers every error of the console with a page. */
export async function showError(error: Error, c: PageContext): Promise<Response> {
  const refusal = refusalOf(error, c.var.trace);
  const { code, context } = refusal;
  const { cause, reason, appid, retryAfter } = context;
  const status = STATUS_OF[code];
  // An error may come before the reader's language is known. The page is in English then.
  if ((c.var.view as View | undefined) === undefined) setView(c, englishView(c));
  if (retryAfter !== undefined) c.header("retry-after", String(retryAfter));
  const { view, t, site } = c.var;
  const [tab, missing, all] = (site && missingOf(view, reason)) ?? [];
  if (site && tab && missing && all) {
    const list = `/console/sites/${site.id}/${tab}`;
    const body = (
      <EmptyState title={missing} {...(view.may(list, "GET") && { links: [[list, all]] })}>
        <p>{t("It may be of another site, or have been deleted. The search above looks in all sites.")}</p>
      </EmptyState>
    );
    return showPage(c, { title: t("Not found"), site: { ...site, tab }, back: list, body }, status);
  }
  const reads = c.req.method === "GET";
  const { identity } = view.session ?? {};
  const neededRole = ROLES.find((role) => role === context.role);
  const home = silentHome(refusal, c.var.trace);
  const valuesBy: Partial<Record<string, (string | number | undefined)[]>> = {
    parameter_repeated: [context.issues?.[0]?.field],
    // The message names a setting and never its value: /healthz says the same.
    configuration: [cause instanceof ConfigurationError ? cause.message : ""],
    home_unbound: [c.var.trace.home, bindingOfHome(c.var.trace.home ?? "")],
    app_unfinished: [appid],
    app_busy: [appid],
    access_no_role: [view.refused?.email],
    role_too_low: [
      neededRole && roleText(view, neededRole),
      identity?.who.name,
      identity && roleText(view, identity.role),
    ],
    429: [retryAfter],
  };
  const names = [reason, String(status)].flatMap((name) => (home === undefined ? [name] : [`${name}_home`, name]));
  const name = names.find((each) => Object.hasOwn(ERRORS, each)) ?? "other";
  const [title = "", text] = ERRORS[name] ?? [];
  const values = valuesBy[name] ?? [home];
  const { begun = false } = c.var;
  // Work that has not begun must not begin after a page that says so.
  c.set("begun", begun);
  const done = begun
    ? t("What you sent may or may not have been done: look before you repeat it.")
    : t("Nothing was changed.");
  const texts = [
    !reads && (text === undefined || WITHOUT_OUTCOME.test(name)) && done,
    text === undefined ? !begun && t("Try again in a moment.") : t(text, ...values),
  ];
  // After a failure the same form may be sent later, also one that no handler has read yet.
  const isLater = !reads && (status >= 500 || status === 429);
  if (isLater && !c.req.raw.bodyUsed) await readForm(c).catch(() => {});
  const sent = isLater && Object.keys(c.var.sent?.values ?? {}).length > 0 ? c.var.sent : undefined;
  const isUnbound = name === "home_unbound";
  // The list of sites is in the directory: while that is silent, only the same page is worth another try.
  const isSilent = reads && status === 503 && home === undefined && !isUnbound;
  const isListed = view.may(HOMES, "GET");
  const link = (href: string, label: string | false | undefined) => label && <LinkLine href={href} label={label} />;
  const body = (
    <section class="card">
      <p>{texts.filter(Boolean).join(" ")}</p>
      {sent && (
        <Action
          isFree
          action={withParameter(sent.path, "draft", "1")}
          label={t("Back to the form, with what you entered")}
          hidden={sent.values}
        />
      )}
      {link(`${c.req.path}/${appid}`, appid !== undefined && t("To the page of this appid"))}
      {link("/console/access", neededRole && t("Your access"))}
      {link(HOMES, isListed && home !== undefined && t("See under Homes which of them it is"))}
      {link(HOMES, isListed && isUnbound && t("Homes"))}
      <p class="hint">
        x-request-id <code>{c.var.trace.requestId}</code>
      </p>
      <p>
        <ButtonLink
          href={isSilent ? view.here : "/console"}
          label={isSilent ? t("Try again") : t("To the sites")}
          plain
        />
      </p>
    </section>
  );
  const trouble: FramedSite["trouble"] = reason === "d1_not_migrated" ? "not_migrated" : undefined;
  const shown = {
    title: t(title, ...values),
    site: site && { ...site, trouble },
    back: "/console",
    filled: sent,
    body,
  };
  return showPage(c, shown, status);
}

/** The tab, the title and the way on of the page for an app, agent, webhook or erasure that the site does not have. */
function missingOf({ t }: View, reason: string) {
  const texts: Record<string, [tab: NonNullable<FramedSite["tab"]>, title: string, all: string]> = {
    app_unknown: ["apps", t("This site has no such app"), t("All apps")],
    agent_unknown: ["agents", t("This site has no such agent"), t("All agents")],
    webhook_unknown: ["webhooks", t("This site has no such webhook"), t("All webhooks")],
    erasure_unknown: ["customers", t("This site has no such erasure"), t("All customers")],
  };
  return texts[reason];
}
