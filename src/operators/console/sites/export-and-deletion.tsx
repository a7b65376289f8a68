import { exportText } from "../../http/site-data.ts";
import { deleteSite, LEFT_LIMIT, readDeletion } from "../../services/delete-site.ts";
import { type ExportedSite, exportSite, planExport } from "../../services/export-site.ts";
import type { Site } from "../../services/sites.ts";
import { sitePath } from "../console-path.ts";
import type { PageContext } from "../env.ts";
import { formAction, isDraft } from "../forms/form-action.ts";
import type { FilledForm } from "../forms/messages.ts";
import { sendFile, showPage } from "../layout.tsx";
import { Ask } from "../parts/ask.tsx";
import { AskLink, Form, SendButton } from "../parts/form.tsx";
import { ButtonLink, Card, type Fact, Facts, LookAgain, NoticeBox, Time } from "../parts/parts.tsx";
import { visibleName } from "../parts/unseen.tsx";
import type { View } from "../view.ts";

/** The items of a file, and how many are read at once: Workers Free allows 50 queries in an invocation. */
const ITEMS_PER_FILE = 2_000;
const ITEMS_AT_ONCE = 500;

/** Leads through the files of an export. The answer to a download is the file, so the page before it says where the next begins. */
export async function exportPage(c: PageContext, site: Site): Promise<Response> {
  const { ctx, view, t } = c.var;
  if (site.status === "creating") return c.redirect(sitePath(site), 303);
  const { after } = c.req.query();
  const part = partOf(c.req.query("part"));
  const { counts, until, hasMore } = await planExport(ctx, { site, limit: ITEMS_PER_FILE, after });
  const end = placeText(view, until);
  const next = `${c.req.path}?${new URLSearchParams({ after: until, part: String(part + 1) })}`;
  const body = (
    <>
      <Ask
        text={t(
          "A file has a JSON object on each line (NDJSON): agents, apps without secrets, and sessions with their messages, participants and customers. The audit log says who exported.",
        )}
        facts={[
          [t("Begins"), after === undefined ? t("at the beginning") : t("after {0}", placeText(view, after))],
          [t("Agents"), view.number(counts.agents)],
          [t("Apps"), view.number(counts.apps)],
          [t("Sessions"), view.number(counts.sessions)],
          [t("Stops"), hasMore ? t("after {0}", end) : t("at the end: it is the last file")],
        ]}
        action={c.req.path}
        hidden={{ ...(after !== undefined && { after }), until, part: String(part) }}
        button={t("Download file {0}", part)}
        isHarmless
        back={sitePath(site, "/settings")}
      />
      {hasMore && (
        <p>
          <ButtonLink href={next} label={t("Go on after {0}", end)} plain />{" "}
          {t("Sites with very many sessions are exported by a program: {0}", `GET /admin/sites/${site.id}/export`)}
        </p>
      )}
    </>
  );
  return showPage(c, { title: t("Export this site"), site: { ...site, tab: "settings" }, body });
}

/** The number of a file in an address or a form. */
const partOf = (text = "") => (/^\d{1,9}$/.test(text) ? Number(text) : 1);

/** The last item of a file, in words. */
function placeText({ t }: View, place: string): string {
  const [, stage, key = ""] = place.split(".");
  if (stage === "agents") return t("agent {0}", key);
  if (stage === "apps") return key === "" ? t("the agents") : t("app {0}", key);
  return key === "0" ? t("the apps") : t("session {0}", key);
}

/** Answers with a file. The form may be sent any number of times: the audit log has a row for each operator and hour. */
export async function postSiteExport(c: PageContext, site: Site): Promise<Response> {
  if (await isDraft(c)) return c.redirect(c.req.path, 303);
  const { after, until, part } = c.var.form;
  const parts: ExportedSite[] = [];
  for (let next: string | null | undefined = after; next !== null; ) {
    const exported = await exportSite(c.var.ctx, { site, limit: ITEMS_AT_ONCE, after: next, until });
    parts.push(exported);
    next = exported.isWhole ? null : exported.next;
  }
  const name = `site-${site.id}-part-${partOf(part)}.ndjson`;
  return sendFile(c, name, "application/x-ndjson", exportText(parts));
}

/** Answers the form that begins a deletion, and the button that sends this form again when the beginning failed halfway. */
export async function postDelete(c: PageContext, site: Site): Promise<Response> {
  const { name = "" } = c.var.form;
  return formAction(c, {
    entered: { input: name },
    page: (filledForm) => deletePage(c, site, filledForm),
    list: sitePath(site),
    work: async () => {
      await deleteSite(c.var.ctx, { site, name });
      return sitePath(site);
    },
  });
}

/** Says what is deleted and what stays, and asks for the name of the site. */
export async function deletePage(c: PageContext, site: Site, filled?: FilledForm): Promise<Response> {
  const { ctx, t } = c.var;
  const isServed = site.status === "open" || site.status === "closed";
  if (!isServed || (await readDeletion(ctx, { site })) !== undefined) return c.redirect(sitePath(site), 303);
  const parts = [
    [
      t("What goes"),
      t("Its apps, at once: their calls are refused as those of unknown apps."),
      t("Its webhooks, at once: they get nothing more, not even what is pending."),
      t("All its data, in steps by the cron: sessions, messages, customers, agents, events and refused calls."),
      t("Tokens that open this site alone, when all data has gone."),
    ],
    [
      t("What stays"),
      t("Its appids, for 31 days after that: until then no site can get them."),
      t("Its rows of the audit log, and its id, which no other site ever gets."),
      t("D1's Time Travel, for 30 days: until then a restore can bring it back, and settling it deletes it again."),
      t("What callers and receivers of webhooks have stored."),
    ],
  ];
  const body =
    site.status === "open" ? (
      <NoticeBox kind="bad" title={t("This site is open")}>
        <p>{t("Only a closed site can be deleted. Close it first, and look whether anybody still calls it.")}</p>
        <AskLink href={sitePath(site, "/close")}>{t("Close this site…")}</AskLink>
      </NoticeBox>
    ) : (
      <>
        <NoticeBox kind="note" title={t("Is what it holds still needed?")}>
          <p>
            {t("It can be exported before:")} <a href={sitePath(site, "/export")}>{t("Export this site…")}</a>
          </p>
        </NoticeBox>
        <section class="card goes">
          {parts.map(([title, ...items]) => (
            <div>
              <h2>{title}</h2>
              <ul class="stays">
                {items.map((item) => (
                  <li>{item}</li>
                ))}
              </ul>
            </div>
          ))}
        </section>
        <Ask
          text={t("It begins at once and cannot be called off. Nobody can undo it.")}
          facts={[
            [t("Name"), <bdi>{site.name}</bdi>],
            ["ID", site.id],
          ]}
          action={c.req.path}
          fields={{
            name: {
              label: t("The site's name"),
              hint: t("Type it as it stands above, so that nobody deletes another site by a slip."),
              required: true,
              // A name has up to 100 characters. Browsers count UTF-16 units, and a character has up to two of them.
              maxlength: 200,
            },
          }}
          filled={filled}
          button={t("Delete this site now")}
          back={sitePath(site, "/settings")}
        />
      </>
    );
  return showPage(c, { title: t("Delete this site?"), site: { ...site, tab: "settings" }, filled, body });
}

/** Replaces the overview of a site that ends or has ended, and shows how far its deletion is. Undefined when none has begun. */
export async function endedPage(c: PageContext, site: Site): Promise<Response | undefined> {
  const { ctx, view, t } = c.var;
  const progress = await readDeletion(ctx, { site });
  if (progress === undefined) return undefined;
  const { remaining, receipt } = progress;
  const { id, begunAt, keptAt, doneAt } = progress.deletion;
  const state = keptAt === null ? "begun" : doneAt === null ? "running" : "done";
  const notices = {
    begun: [
      "bad",
      t("The deletion has begun, but not everything knows of it"),
      t("The directory or KV did not answer: nothing is deleted yet. Send it again. It cannot be called off."),
    ],
    running: [
      "note",
      t("This site is being deleted"),
      t("Its apps and webhooks have stopped. The cron deletes its data in steps. It cannot be called off."),
    ],
    done: [
      "good",
      t("This site is deleted"),
      t("Its rows of the audit log stay. Its appids are kept for 31 days, and D1's Time Travel keeps 30 days."),
    ],
  } as const;
  const [kind, title, text] = notices[state];
  // Counting stops at LEFT_LIMIT, so a larger number is shown with a "+".
  const countText = (count: number) => view.number(count) + (count < LEFT_LIMIT ? "" : "+");
  const rowsLeft = Object.entries(remaining).flatMap(([table, count]): Fact[] =>
    count > 0 ? [[tableTexts(view)[table] ?? table, countText(count)]] : [],
  );
  const body = (
    <>
      <NoticeBox kind={kind} title={title}>
        <p>{text}</p>
        {state === "running" && <LookAgain />}
        {state === "begun" && (
          <Form action={sitePath(site, "/delete")} hidden={{ name: site.name }}>
            <SendButton label={t("Send it again")} class="danger" />
          </Form>
        )}
      </NoticeBox>
      {/* The receipt is for a deployment where no other place survives a restore of main. */}
      {receipt !== undefined && view.may(sitePath(site, "/delete")) && (
        <Card title={t("Receipt to keep for 31 days")}>
          <p>
            {t(
              "This deployment has no KV, so a restore of its main database also undoes what it knows of this deletion, and may bring the site back. Keep this outside of the deployment, and paste it in after a restore.",
            )}
          </p>
          <Facts rows={[[t("Receipt"), JSON.stringify([receipt]), "receipt"]]} />
        </Card>
      )}
      <Card
        facts={[
          [t("Deletion begun"), <Time at={begunAt} />],
          [t("All gone"), doneAt === null ? t("Not yet") : <Time at={doneAt} />],
          [t("Id of the deletion"), id, "deletion-id"],
        ]}
      >
        <p class="hint">{t("Its row in the audit log has this id.")}</p>
      </Card>
      <Card title={t("What is left of its data")}>
        {rowsLeft.length === 0 ? <p>{t("Nothing.")}</p> : <Facts rows={rowsLeft} />}
      </Card>
    </>
  );
  // The name of a deleted site is deleted too.
  const name = visibleName(site);
  return showPage(c, { title: name, site: { ...site, name, tab: "overview" }, body });
}

/** The contents of a site's tables in words. test/operators/console/sites/site-end.test.ts names a table without words. */
export const tableTexts = ({ t }: View): Record<string, string> => ({
  deliveries: t("Deliveries"),
  events: t("Events"),
  nonces: t("Used one-time texts (ranstr)"),
  idempotency_keys: t("Idempotency-Keys"),
  refusals: t("Refused calls"),
  participants: t("Participants"),
  messages: t("Messages"),
  sessions: t("Sessions"),
  customers: t("Customers"),
  erasures: t("Erasures of customers"),
  webhooks: t("Webhooks"),
  agents: t("Agents"),
  apps: t("Apps"),
  usage: t("Usage by hours"),
  usage_days: t("Usage by days"),
  counters: t("Counters for the metrics"),
  counted_events: t("How far events are counted"),
});
