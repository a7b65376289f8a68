import type { Child } from "hono/jsx";
import { isRefusedFor } from "../../../errors.ts";
import type { AuditAction } from "../../../services/audit.ts";
import type { RotationInput } from "../../../services/rotation.ts";
import type { Site } from "../../../services/sites.ts";
import { call } from "../../operator/call.ts";
import type { ConsoleCall, PageContext } from "../env.ts";
import { buttonAction, type Entered, formAction } from "../forms/form-action.ts";
import { doneLocation, type Filled } from "../forms/messages.ts";
import { readForm } from "../forms/read-form.ts";
import { ticketEnd, ticketFor } from "../forms/tickets.ts";
import { showPage } from "../layout.tsx";
import { askPage } from "../parts/ask-page.tsx";
import { AskLink, Field, Form } from "../parts/form.tsx";
import { Copyable, NoticeBox, Until } from "../parts/parts.tsx";
import type { FramedSite } from "../parts/site-frame.tsx";
import type { View } from "../view.ts";
import { choicesOf, endsOf, hasOverlap, overlapOf, overlapsOf } from "./overlap.ts";

/** When a secret was last used, in sentences. */
export interface SecretUse {
  used: string;
  /** How far that is known; empty when nothing is. */
  counted: string;
}

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
  /** @throws ServiceError `conflict`, reason `app_revoked`, `overlap_over`, or `version_other` when it has another version by now */
  rotate: (input: RotationInput) => Promise<{ version: string }>;
  /** @throws ServiceError `conflict`, reason `app_revoked`, or `version_other` when it has another version by now */
  endOverlap: (expectedVersion: string) => Promise<unknown>;
  /** Says when the previous secret was last used. Undefined for webhooks: their receivers use it, and nobody counts that. */
  previousUse?: () => Promise<SecretUse>;
  /** Shows its page, with the form of a rotation filled in again. */
  page: (again: Filled) => Promise<Response>;
}

/**
 * The calls that rotate the secret of an app or a webhook, show the new secret, and end the old one.
 *
 * @param base start of their paths
 */
export function secretPages(
  base: string,
  audit: { rotated: AuditAction; ended: AuditAction },
  ownerOf: (c: PageContext, site: Site) => Promise<ShownSecretOwner>,
): ConsoleCall[] {
  const of = { role: "operator", scope: "site" } as const;
  return [
    call({ ...of, method: "get", path: `${base}/rotate`, audit: [] }, async (c: PageContext, site) =>
      confirmPage(c, await ownerOf(c, site), c.req.query()),
    ),
    call({ ...of, method: "post", path: `${base}/rotate`, audit: [audit.rotated] }, async (c: PageContext, site) =>
      rotate(c, await ownerOf(c, site)),
    ),
    call({ ...of, method: "get", path: `${base}/end-overlap`, audit: [] }, async (c: PageContext, site) =>
      endPage(c, await ownerOf(c, site)),
    ),
    call({ ...of, method: "post", path: `${base}/end-overlap`, audit: [audit.ended] }, async (c: PageContext, site) =>
      endOverlap(c, await ownerOf(c, site)),
    ),
    call({ ...of, method: "get", path: `${base}/secret`, audit: [] }, async (c: PageContext, site) =>
      secretPage(c, await ownerOf(c, site)),
    ),
  ];
}

async function rotate(c: PageContext, owner: ShownSecretOwner): Promise<Response> {
  const form = await readForm(c);
  const { overlap_seconds = "", ends = "", version = "", confirmed } = form;
  const { path } = owner;
  const entered = enteredIn(c.var.view, owner, form);
  const question = "input" in entered ? questionOf(path, entered.input) : undefined;
  return formAction(c, form, {
    values: { overlap_seconds, ends },
    entered,
    page: owner.page,
    draft: confirmed && question !== undefined ? { path: question } : undefined,
    list: path,
    work: async (input) => {
      // The operator confirms a rotation that ends a secret which a program may still use.
      const endsOne = input.overlapSeconds === 0 || hasOverlap(owner, c.var.view.now);
      if (owner.isActive && version === owner.version && !confirmed && endsOne) return questionOf(path, input);
      try {
        const rotated = await owner.rotate({ ...input, expectedVersion: version });
        return await secretLocation(c, path, rotated.version);
      } catch (error) {
        if (isRefusedFor(error, "overlap_over")) return doneLocation(c, path, "overlap_over");
        return refusedLocation(c, path, error);
      }
    },
  });
}

/** The rotation that a form asks for. While an overlap runs, it must say which secret ends. */
function enteredIn({ t, now }: View, owner: ShownSecretOwner, form: Record<string, string>): Entered<RotationInput> {
  const overlapSeconds = overlapOf(form.overlap_seconds ?? "");
  if (overlapSeconds === undefined) return { errors: { overlap_seconds: t("Choose one of the overlaps.") } };
  const ends = endsOf(form.ends ?? "");
  if (overlapSeconds > 0) {
    // A form for another version is refused as a whole, and needs no other fault.
    const isDue = form.version === owner.version && owner.isActive && hasOverlap(owner, now);
    if (isDue && ends === undefined) return { errors: { ends: t("Choose which secret ends.") } };
    return { input: { overlapSeconds, ends } };
  }
  if (ends === "current") return { errors: { ends: t("Without an overlap both stop, so the old one keeps no time.") } };
  return { input: { overlapSeconds } };
}

/** The address of the page that asks before a rotation. */
const questionOf = (path: string, { overlapSeconds, ends }: RotationInput): string =>
  `${path}/rotate?overlap_seconds=${overlapSeconds}${ends === undefined ? "" : `&ends=${ends}`}`;

/** Where a refused form leads to. @throws the error, when it is another one */
function refusedLocation(c: PageContext, path: string, error: unknown): Promise<string> {
  if (isRefusedFor(error, "app_revoked")) return doneLocation(c, path, "revoked_before");
  if (isRefusedFor(error, "version_other")) return doneLocation(c, path, "rotated_before");
  throw error;
}

async function endOverlap(c: PageContext, owner: ShownSecretOwner): Promise<Response> {
  const form = await readForm(c);
  const { path } = owner;
  return buttonAction(c, form, {
    draft: { path: `${path}/end-overlap` },
    list: path,
    work: async () => {
      try {
        await owner.endOverlap(form.version ?? "");
        return await doneLocation(c, path, "overlap_ended");
      } catch (error) {
        return refusedLocation(c, path, error);
      }
    },
  });
}

/** Asks before the previous secret ends, which a program may still use. */
async function endPage(c: PageContext, owner: ShownSecretOwner): Promise<Response> {
  const view = c.var.view;
  const { t } = view;
  if (!owner.isActive || !hasOverlap(owner, view.now)) return c.redirect(owner.path, 303);
  const use = await owner.previousUse?.();
  return askPage(c, owner.site, {
    title: t("Stop the old secret now?"),
    text: owner.words.stopped,
    facts: (
      <>
        {owner.facts}
        <dt>{t("The previous secret")}</dt>
        <dd>
          <strong>{t("Stops at once.")}</strong>{" "}
          {t("Otherwise it works until {0}.", view.time(owner.previousExpiresAt ?? 0))}
        </dd>
        <LastUseFact view={view} use={use} />
        <dt>{t("The secret in use")}</dt>
        <dd>{t("Goes on working.")}</dd>
      </>
    ),
    action: `${owner.path}/end-overlap`,
    hidden: { version: owner.version },
    button: t("The old secret stops now"),
    keep: t("Cancel"),
    back: owner.path,
  });
}

/** The card on a page that rotates the secret, for readers who may. */
export function RotateCard(props: { view: View; owner: Omit<ShownSecretOwner, "page">; again: Filled | undefined }) {
  const { view, owner, again } = props;
  const { t } = view;
  if (!view.may(`${owner.path}/rotate`)) return null;
  return (
    <section class="card" id="rotate">
      <h2>{t("Rotate the secret")}</h2>
      <p>
        {t("Makes a new secret. The one in use goes on working for the overlap, so that there is time to change over.")}
      </p>
      {hasOverlap(owner, view.now) && (
        <p>
          {t(
            "An overlap is running: the previous secret works until {0}. Rotating now stops one of the two; say which, and you are asked first.",
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
        {hasOverlap(owner, view.now) && (
          <Field
            label={t("Which secret stops")}
            name="ends"
            value={again?.values.ends}
            error={again?.errors.ends}
            options={choicesOf(view)}
          />
        )}
        <button type="submit">{t("Rotate")}</button>
      </Form>
    </section>
  );
}

/** Asks before a rotation ends a secret that a program may still use. Tells which secret ends, and when. */
async function confirmPage(c: PageContext, owner: ShownSecretOwner, query: Record<string, string>): Promise<Response> {
  const view = c.var.view;
  const { t } = view;
  const overlap = overlapOf(query.overlap_seconds ?? "");
  const ends = overlap === 0 ? undefined : endsOf(query.ends ?? "");
  const isRunning = hasOverlap(owner, view.now);
  const isChosen = overlap === 0 || (isRunning ? ends !== undefined : ends !== "current");
  if (overlap === undefined || !isChosen || !owner.isActive) return c.redirect(owner.path, 303);
  const stops = <strong>{t("Stops at once.")}</strong>;
  const until = view.time(owner.previousExpiresAt ?? 0);
  const use = isRunning && ends !== "current" ? await owner.previousUse?.() : undefined;
  return askPage(c, owner.site, {
    title: t("Rotate the secret?"),
    text: owner.words.stopped,
    facts: (
      <>
        {owner.facts}
        {isRunning && (
          <>
            <dt>{t("The previous secret")}</dt>
            <dd>
              {ends === "current" ? (
                t("Works until {0}, as before.", until)
              ) : (
                <>
                  {stops} {t("Without this rotation it works until {0}.", until)}
                </>
              )}
            </dd>
            <LastUseFact view={view} use={use} />
          </>
        )}
        <dt>{ends === "current" ? t("The secret made last, which nobody received") : t("The secret in use")}</dt>
        <dd>{overlap === 0 || ends === "current" ? stops : t("Works until {0}.", view.time(view.now + overlap))}</dd>
        <dt>{t("The new secret")}</dt>
        <dd>{t("Works at once.")}</dd>
      </>
    ),
    action: `${owner.path}/rotate`,
    hidden: {
      version: owner.version,
      overlap_seconds: String(overlap),
      ...(ends !== undefined && { ends }),
      confirmed: "yes",
    },
    button: t("Rotate now"),
    keep: t("Cancel"),
    back: owner.path,
  });
}

/**
 * The address of the page that shows a new secret. Only this console session can open it, for ten minutes.
 *
 * @param path  of the owner's page
 * @param isNew whether the owner was made with this secret, and not rotated
 */
export async function secretLocation(c: PageContext, path: string, version: string, isNew = false): Promise<string> {
  const { session, now } = c.var.view;
  if (session === undefined) return path;
  return `${path}/secret?ticket=${await ticketFor(session, purposeOf(path, version), now)}${isNew ? "&new=1" : ""}`;
}

// The purpose names the version: otherwise the ticket would also show a newer secret, made by another operator.
const purposeOf = (path: string, version: string) => ["secret", path, version];

async function secretPage(c: PageContext, owner: ShownSecretOwner): Promise<Response> {
  const view = c.var.view;
  const { t, session, now } = view;
  const { site, path, words } = owner;
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
  return showPage(c, { site, title: c.req.query("new") ? words.made : t("The secret was rotated"), body });
}

/** Before the previous secret ends: when it was last used. */
function LastUseFact({ view, use }: { view: View; use: SecretUse | undefined }) {
  if (use === undefined) return null;
  return (
    <>
      <dt>{view.t("Last use of the old secret")}</dt>
      <dd>
        {use.used}
        {use.counted !== "" && <span class="hint line">{use.counted}</span>}
      </dd>
    </>
  );
}

/** During an overlap: how long the previous secret is valid. @param props `stop` whether to offer its end; `use` when it was last used */
export function PreviousSecret(props: {
  view: View;
  of: Pick<ShownSecretOwner, "path" | "previousExpiresAt">;
  stop?: boolean;
  use?: SecretUse;
}) {
  const { view, of, stop, use } = props;
  return hasOverlap(of, view.now) ? (
    <>
      <dt>{view.t("Previous secret until")}</dt>
      <dd>
        <Until view={view} at={of.previousExpiresAt ?? 0} />
        {use !== undefined && <p class="hint">{use.used}</p>}
        {stop && (
          <div class="buttons">
            <AskLink view={view} href={`${of.path}/end-overlap`}>
              {view.t("The old secret stops now")}…
            </AskLink>
          </div>
        )}
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
          "A secret is shown for ten minutes, only in the session that created it, and not after the next rotation. It is not shown again. If it was not kept, rotate: that makes another. While an overlap runs, let the one made last stop, because nobody has it.",
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
