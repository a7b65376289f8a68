import type { Child } from "hono/jsx";
import { isRefusedFor } from "../../../errors.ts";
import type { AuditAction } from "../../../services/audit.ts";
import type { Site } from "../../../services/sites.ts";
import { call } from "../../operator/call.ts";
import type { ConsoleCall, PageContext } from "../env.ts";
import { formAction } from "../forms/form-action.ts";
import { doneLocation, type Filled } from "../forms/messages.ts";
import { readForm } from "../forms/read-form.ts";
import { ticketEnd, ticketFor } from "../forms/tickets.ts";
import { showPage } from "../layout.tsx";
import { askPage } from "../parts/ask-page.tsx";
import { Field, Form } from "../parts/form.tsx";
import { Copyable, NoticeBox, Until } from "../parts/parts.tsx";
import type { FramedSite } from "../parts/site-frame.tsx";
import type { View } from "../view.ts";
import { hasOverlap, overlapOf, overlapsOf } from "./overlap.ts";

/** An app or a webhook, for the pages of its secret. */
export interface ShownSecretOwner {
  site: FramedSite;
  /** The path of its page. */
  path: string;
  version: string;
  previousExpiresAt: number | null;
  /** False for a revoked app. */
  isActive: boolean;
  /** Terms and details about it. */
  facts: Child;
  words: {
    /** Title of the page after it was made. */
    made: string;
    /** What its secret is for. */
    use: string;
    /** What happens to a program that still uses an ended secret. */
    stopped: string;
  };
  read: () => Promise<string>;
  /** @throws ServiceError `conflict`, reason `app_revoked`, or `version_other` when the version is no longer the expected one */
  rotate: (overlapSeconds: number, expectedVersion: string) => Promise<{ version: string }>;
  /** Shows its page, with the form of a rotation filled in again. */
  page: (again: Filled) => Promise<Response>;
}

/**
 * The calls that rotate the secret of an app or a webhook, and show the new secret.
 *
 * @param base start of their paths
 */
export function secretPages(
  base: string,
  rotated: AuditAction,
  ownerOf: (c: PageContext, site: Site) => Promise<ShownSecretOwner>,
): ConsoleCall[] {
  const of = { role: "owner", scope: "site" } as const;
  return [
    call({ ...of, method: "get", path: `${base}/rotate`, audit: [] }, async (c: PageContext, site) =>
      confirmPage(c, await ownerOf(c, site), c.req.query("overlap_seconds")),
    ),
    call({ ...of, method: "post", path: `${base}/rotate`, audit: [rotated] }, async (c: PageContext, site) =>
      rotate(c, await ownerOf(c, site)),
    ),
    call({ ...of, method: "get", path: `${base}/secret`, audit: [] }, async (c: PageContext, site) =>
      secretPage(c, await ownerOf(c, site)),
    ),
  ];
}

async function rotate(c: PageContext, owner: ShownSecretOwner): Promise<Response> {
  const form = await readForm(c);
  const { overlap_seconds = "", version = "", confirmed } = form;
  const { t, now } = c.var.view;
  const { path } = owner;
  const chosen = overlapOf(overlap_seconds);
  const question = `${path}/rotate?overlap_seconds=${chosen}`;
  return formAction(c, form, {
    values: { overlap_seconds },
    entered:
      chosen === undefined ? { errors: { overlap_seconds: t("Choose one of the overlaps.") } } : { input: chosen },
    page: owner.page,
    draft: confirmed ? { path: question } : undefined,
    list: path,
    work: async (overlap) => {
      // The operator confirms a rotation that ends a secret which a program may still use.
      const endsOne = overlap === 0 || hasOverlap(owner, now);
      if (owner.isActive && version === owner.version && !confirmed && endsOne) return question;
      try {
        return await secretLocation(c, path, (await owner.rotate(overlap, version)).version);
      } catch (error) {
        if (isRefusedFor(error, "app_revoked")) return doneLocation(c, path, "revoked_before");
        if (isRefusedFor(error, "version_other")) return doneLocation(c, path, "rotated_before");
        throw error;
      }
    },
  });
}

/** The card on a page that rotates the secret. */
export function RotateCard(props: { view: View; owner: Omit<ShownSecretOwner, "page">; again: Filled | undefined }) {
  const { view, owner, again } = props;
  const { t } = view;
  return (
    <section class="card" id="rotate">
      <h2>{t("Rotate the secret")}</h2>
      <p>
        {t("Makes a new secret. The one in use goes on working for the overlap, so that there is time to change over.")}
      </p>
      {hasOverlap(owner, view.now) && (
        <p>
          {t(
            "An overlap is running: the previous secret works until {0}. Rotating now would stop it at once; you are asked first.",
            view.time(owner.previousExpiresAt ?? 0),
          )}
        </p>
      )}
      <Form view={view} action={`${owner.path}/rotate`}>
        <input type="hidden" name="version" value={owner.version} />
        <Field
          label={t("Overlap")}
          name="overlap_seconds"
          value={again?.values.overlap_seconds ?? "86400"}
          error={again?.errors.overlap_seconds}
          options={overlapsOf(view)}
        />
        <button type="submit">{t("Rotate")}</button>
      </Form>
    </section>
  );
}

/** Asks before a rotation ends a secret that a program may still use. Tells which secret ends, and when. */
async function confirmPage(c: PageContext, owner: ShownSecretOwner, chosen = ""): Promise<Response> {
  const view = c.var.view;
  const { t } = view;
  const overlap = overlapOf(chosen);
  if (overlap === undefined || !owner.isActive) return c.redirect(owner.path, 303);
  const stops = <strong>{t("Stops at once.")}</strong>;
  return askPage(c, owner.site, {
    title: t("Rotate the secret?"),
    text: owner.words.stopped,
    facts: (
      <>
        {owner.facts}
        {hasOverlap(owner, view.now) && (
          <>
            <dt>{t("The previous secret")}</dt>
            <dd>
              {stops} {t("Without this rotation it works until {0}.", view.time(owner.previousExpiresAt ?? 0))}
            </dd>
          </>
        )}
        <dt>{t("The secret in use")}</dt>
        <dd>{overlap === 0 ? stops : t("Works until {0}.", view.time(view.now + overlap))}</dd>
        <dt>{t("The new secret")}</dt>
        <dd>{t("Works at once.")}</dd>
      </>
    ),
    action: `${owner.path}/rotate`,
    hidden: { version: owner.version, overlap_seconds: String(overlap), confirmed: "yes" },
    button: t("Rotate now"),
    keep: t("Cancel"),
    back: owner.path,
  });
}

/**
 * The address of the page that shows a new secret. Only this console session can open it, for ten minutes.
 *
 * @param path of the owner's page
 */
export async function secretLocation(c: PageContext, path: string, version: string): Promise<string> {
  const { session, now } = c.var.view;
  return session ? `${path}/secret?ticket=${await ticketFor(session, purposeOf(path, version), now)}` : path;
}

// The purpose names the version: otherwise the ticket would also show a newer secret, made by another operator.
const purposeOf = (path: string, version: string) => ["secret", path, version];

async function secretPage(c: PageContext, owner: ShownSecretOwner): Promise<Response> {
  const view = c.var.view;
  const { t, session, now } = view;
  const { site, path, words, previousExpiresAt } = owner;
  const gone = () =>
    showPage(c, { site, title: t("This secret is no longer shown"), body: <Gone c={c} path={path} /> }, 410);
  const ticket = c.req.query("ticket") ?? "";
  const end = session && (await ticketEnd(session, purposeOf(path, owner.version), ticket, now));
  if (end === undefined) return gone();
  let secret: string;
  try {
    secret = await owner.read();
  } catch (error) {
    if (isRefusedFor(error, "app_revoked", "version_other")) return gone();
    throw error;
  }
  // An open page reloads when the ticket ends: otherwise the secret would stay on the screen.
  c.header("refresh", String(end - now));
  const body = (
    <>
      <NoticeBox kind="note" title={t("Copy the secret now")}>
        <p>
          {t(
            "It is shown on this page alone, while you are signed in and no longer than ten minutes; it is stored sealed.",
          )}
        </p>
        <p>{words.use}</p>
      </NoticeBox>
      <section class="card">
        <dl class="facts">
          {owner.facts}
          <Copyable view={view} id="secret" label={t("Secret")} text={secret} />
          <dt>{t("Shown here until")}</dt>
          <dd>
            <Until view={view} at={end} />
          </dd>
          <PreviousSecret view={view} of={owner} />
        </dl>
        <a class="button" href={path}>
          {t("I have saved it")}
        </a>
      </section>
    </>
  );
  return showPage(c, { site, title: previousExpiresAt === null ? words.made : t("The secret was rotated"), body });
}

/** During an overlap: how long the previous secret is valid. */
export function PreviousSecret({ view, of }: { view: View; of: Pick<ShownSecretOwner, "previousExpiresAt"> }) {
  return hasOverlap(of, view.now) ? (
    <>
      <dt>{view.t("Previous secret until")}</dt>
      <dd>
        <Until view={view} at={of.previousExpiresAt ?? 0} />
      </dd>
    </>
  ) : null;
}

function Gone({ c, path }: { c: PageContext; path: string }) {
  const { t } = c.var.view;
  return (
    <section class="card">
      <p>
        {t(
          "A secret is shown for ten minutes, only in the session that created it, and not after the next rotation. It is not shown again. If it was not kept, rotate: that makes a new one.",
        )}
      </p>
      <p>
        <a class="button" href={`${path}#rotate`}>
          {t("Rotate the secret")}
        </a>
      </p>
    </section>
  );
}
