import { ConfigurationError } from "../../core/config.ts";
import { STATUS_OF } from "../../core/errors.ts";
import { refusalOf, silentHome } from "../../core/http/faults.ts";
import { ROLES } from "../access/role.ts";
import { type PageContext, setView } from "./env.ts";
import { showPage } from "./layout.tsx";
import { EmptyState } from "./parts/parts.tsx";
import { roleText } from "./parts/role-texts.ts";
import type { FramedSite } from "./parts/site-frame.tsx";
import { englishView, type View } from "./view.ts";

/** Answers every error of the console with a page. */
export function showError(error: Error, c: PageContext): Promise<Response> {
  const refusal = refusalOf(error, c.var.trace);
  const { code, context } = refusal;
  const status = STATUS_OF[code];
  // An error may come before the reader's language is known. The page is in English then.
  if ((c.var.view as View | undefined) === undefined) setView(c, englishView(c));
  if (context.retryAfter !== undefined) c.header("retry-after", String(context.retryAfter));
  const { view } = c.var;
  const { t, session } = view;
  const outcome =
    c.req.method === "GET" || c.var.onlyReads
      ? t("Try again in a moment.")
      : t("What you sent may or may not have been done: look before you repeat it.");
  const neededRole = ROLES.find((role) => role === context.role);
  const home = silentHome(refusal, c.var.trace);
  const unfinishedApp: [string, string] = [
    t("The app is not finished"),
    t(
      "The appid {0} is kept for this site and may have no app yet. On its page it can be issued again, or released.",
      context.appid ?? "",
    ),
  ];
  const reasons: Record<string, [string, string]> = {
    // The message of a ConfigurationError names a setting and never its value: /healthz says the same.
    configuration: [
      t("A setting of the deployment is wrong"),
      context.cause instanceof ConfigurationError ? context.cause.message : "",
    ],
    parameter_repeated: [
      t("The address names a part twice"),
      t("“{0}” may stand in it once. Nothing was changed.", context.issues?.[0]?.field),
    ],
    home_unbound: [
      t("The home {0} has no database", c.var.trace.home),
      t("No database is bound for it, so its sites stop. Those of other homes go on."),
    ],
    d1_not_migrated: [
      home === undefined ? t("A database is not migrated") : t("The home {0} or the directory is not migrated", home),
      t("npm run deploy migrates all databases."),
    ],
    site_unfinished: [t("This site is unfinished"), t("Its home does not have it yet: finish it on its overview.")],
    app_unfinished: unfinishedApp,
    app_busy: unfinishedApp,
    site_id_taken: [
      t("The home has another site of this id"),
      t("The directory was restored to an earlier time: say so first, under Homes, main."),
    ],
    home_behind: [
      t("Nothing was released"),
      t("The home was restored and does not have all of its sites again: say so first, under Homes."),
    ],
    access_no_role: [
      t("You have no role here"),
      t("Nobody has let {0} into this console. An owner can do it under “People”.", c.var.view.refused?.email),
    ],
    assertion_without_email: [
      t("You have no role here"),
      t("What Cloudflare Access sent names no e-mail address: programs use a token and the admin API."),
    ],
    role_too_low: [
      t("Your role does not allow this"),
      t(
        "This needs the role {0} or a higher one. You are {1}, and your role is {2}.",
        neededRole && roleText(view, neededRole),
        session?.identity.who.name,
        session && roleText(view, session.identity.role),
      ) + (c.req.method === "GET" ? "" : ` ${t("Nothing was changed.")}`),
    ],
    person_of_one_site: [
      t("This is not part of your site"),
      t("It is about the whole deployment, and you see one site. Nothing was changed."),
    ],
    home_closed: [
      t("A home is closed, so this cannot be done now"),
      t("The home of this site, or main, is closed. Nothing was changed: try again when it is open."),
    ],
    hash_key_unopened: [
      t("No master key here opens the key of the customers' hashes"),
      t(
        "Nothing was changed. If a new MASTER_KEY was just deployed, try again in a minute; else see docs/operating.md, under “Rotating the master key”.",
      ),
    ],
    erasure_lost: [
      t("This erasure is gone"),
      t("The home was restored meanwhile: say so first, under Homes. That erases again."),
    ],
    site_open: [t("This site is open"), t("Close it first, in its settings. Nothing was deleted.")],
    site_ending: [
      t("The deletion of this site has begun"),
      t("It cannot be called off. Nothing was changed. Its overview shows how far it is."),
    ],
    home_open: [t("This home is open"), t("Close it first. Nothing was changed.")],
    site_not_remembered: [t("The site is changed, but KV does not answer"), t("Send the same change again.")],
    kv_unavailable: [
      t("KV does not answer"),
      t("Not everything is done: open the page before this one again, and send it again."),
    ],
    body_too_slow: [
      t("That took too long to arrive"),
      t("A form must arrive within 5 seconds. Nothing was changed: send it again."),
    ],
    site_busy: [t("Nothing was changed."), t("Others create sites of this name at this moment. Try again.")],
    changed_meanwhile: [
      t("Somebody else changed it meanwhile"),
      t(
        "The database was slow, and another change came between. Look at it, and send yours again if it is still wanted.",
      ),
    ],
    site_not_copied: [
      t("The site is changed, but the list of sites does not show it yet"),
      t("Send the same change again."),
    ],
  };
  const texts: Partial<Record<number, [string, string]>> = {
    400: [t("That address does not make sense"), t("A part of it cannot be read.")],
    403: [
      t("This form came from elsewhere"),
      t("Only the console's own pages may send forms here. Nothing was changed."),
    ],
    404: [t("There is no such page"), t("Nothing here goes by that address.")],
    429: [
      t("That was too much at once"),
      t("Wait {0} seconds, and then try again. Nothing was changed.", context.retryAfter),
    ],
    413: [t("That is too long"), t("Nothing was changed.")],
    503: [
      home === undefined ? t("The database does not answer") : t("The home {0} or the directory does not answer", home),
      outcome,
    ],
  };
  const fallback = [t("Something went wrong"), t("The log has the details under this id:")];
  const [title = "", text] = reasons[context.reason] ?? texts[status] ?? fallback;
  const { site } = c.var;
  const missing = site && missingOf(view, context.reason);
  if (missing !== undefined && site !== undefined) {
    const list = `/console/sites/${site.id}/${missing.tab}`;
    const empty = (
      <EmptyState title={missing.title}>
        <p>{t("It may be of another site, or have been deleted. The search above looks in all sites.")}</p>
        {view.may(list, "GET") && (
          <p>
            <a class="button plain" href={list}>
              {missing.all}
            </a>
          </p>
        )}
      </EmptyState>
    );
    const page = { title: t("Not found"), site: { ...site, tab: missing.tab }, back: list, body: empty };
    return showPage(c, page, status);
  }
  const body = (
    <section class="card">
      <p>{text}</p>
      {context.appid !== undefined && (
        <p>
          <a href={`${c.req.path}/${context.appid}`}>{t("To the page of this appid")}</a>
        </p>
      )}
      {neededRole !== undefined && (
        <p>
          <a href="/console/access">{t("Your access")}</a>
        </p>
      )}
      {home !== undefined && view.may("/console/homes", "GET") && (
        <p>
          <a href="/console/homes">{t("See under Homes which of them it is")}</a>
        </p>
      )}
      <p class="hint">
        x-request-id <code>{c.var.trace.requestId}</code>
      </p>
      <p>
        <a class="button plain" href="/console">
          {t("To the sites")}
        </a>
      </p>
    </section>
  );
  return showPage(c, { title, ...(site && { site }), back: "/console", body }, status);
}

/** The texts of the page for an app, agent, webhook or erasure that the site does not have. */
function missingOf({ t }: View, reason: string) {
  const texts: Record<string, { tab: NonNullable<FramedSite["tab"]>; title: string; all: string }> = {
    app_unknown: { tab: "apps", title: t("This site has no such app"), all: t("All apps") },
    agent_unknown: { tab: "agents", title: t("This site has no such agent"), all: t("All agents") },
    webhook_unknown: { tab: "webhooks", title: t("This site has no such webhook"), all: t("All webhooks") },
    erasure_unknown: { tab: "customers", title: t("This site has no such erasure"), all: t("All customers") },
  };
  return texts[reason];
}
