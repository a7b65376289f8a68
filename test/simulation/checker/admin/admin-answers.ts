import type { Row } from "../../platform/database.ts";
import { hasEnded, type Model } from "../model.ts";
import { hasKeyOf, keyId, sealedWith } from "../seals.ts";
import { wrongErasureAnswer, wrongExport } from "./customer-answers.ts";
import type { Operation, OperationOf } from "./intents.ts";
import { answerable } from "./late-tries.ts";
import { wrongRestoredAnswer } from "./restores.ts";
import { untilShown, wrongEndAnswer } from "./rotations.ts";
import { wrongSiteEndAnswer } from "./site-ends.ts";
import { wrongSiteExport } from "./site-reads.ts";
import { wrongTokenAnswer } from "./tokens.ts";
import { wrongWebhookAnswer } from "./webhook-answers.ts";

/** The content of successful answers of the admin API: docs/operating.md, "Admin API". */

/** A parsed JSON body; each function knows the fields of its answer. */
type Body = Record<string, never>;

/** @returns how a 2xx answer is wrong */
export function wrongAnswer(model: Model, operation: Operation): string | undefined {
  const { call, intent } = operation;
  const text = call.answer?.body ?? "";
  if (intent.kind === "exportSite") return wrongSiteExport({ ...operation, intent }, text);
  const body = text === "" ? ({} as Body) : (JSON.parse(text) as Body);
  switch (intent.kind) {
    case "createSite": {
      const site = model.directory.get(Number(body.id));
      const { name, home } = intent;
      if (site?.home !== home || site.status === "creating") return "the directory does not have this site";
      if (!model.home(home).sites.has(Number(body.id))) return "its home does not have this site";
      return unlike(body, { id: body.id, name, home, status: "open" });
    }
    case "changeSite":
      return wrongChangeSite(model, { ...operation, intent }, body);
    case "issueApp":
      return wrongIssueApp(model, { ...operation, intent }, body);
    case "rotate": {
      const { appid } = intent;
      const row = lastOf(operation, "apps");
      if (row === undefined || row.version !== body.version) return "it did not rotate to this version";
      const { version = "" } = row;
      const told = { appid, secret: model.secrets.get(String(version)), version };
      const now = model.listedApp(appid)?.row;
      return unlikeAll(
        body,
        untilShown(row, now).map((previous_expires_at) => ({ ...told, previous_expires_at })),
      );
    }
    case "endOverlap":
      return wrongEndAnswer(body, operation.rows);
    case "revoke":
      return wrongRevoke(model, { ...operation, intent });
    case "addAgent": {
      const row = lastOf(operation, "agents");
      return row === undefined ? "it changed nothing" : unlike(body, agentShown(row));
    }
    case "changeAgent": {
      const { name, status } = intent;
      const wanted = { ...(name !== undefined && { name }), ...(status !== undefined && { status }) };
      return unlikeAll(body, answerable(operation, "agents", wanted).map(agentShown));
    }
    case "reseal":
      return wrongReseal(model, operation, body);
    case "restored":
      return wrongRestoredAnswer(model, { ...operation, intent }, body);
    case "createToken":
      return wrongTokenAnswer(model, { ...operation, intent }, body);
    case "deleteToken":
      return wrongTokenAnswer(model, { ...operation, intent }, body);
    case "eraseCustomer":
      return wrongErasureAnswer(model, { ...operation, intent }, body as never);
    case "deleteSite":
      return wrongSiteEndAnswer(model, { ...operation, intent }, body);
    case "exportCustomer":
      return wrongExport(model, { ...operation, intent }, body as never);
    case "read":
      return undefined;
    default:
      return wrongWebhookAnswer(model, { ...operation, intent }, body);
  }
}

const lastOf = ({ changes }: Operation, table: string): Row | undefined =>
  changes.findLast((each) => each.table === table)?.after ?? undefined;

const unlike = (body: object, expected: object): string | undefined => {
  const sorted = (value: object) => JSON.stringify(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  return sorted(body) === sorted(expected) ? undefined : `expected ${JSON.stringify(expected)}`;
};

const agentShown = ({ id, name, status }: Row) => ({ id, name, status });

/** @param known the rows that may be shown, the newest last */
const unlikeAll = (body: object, known: object[]): string | undefined => {
  const wrong = known.map((each) => unlike(body, each));
  return wrong.includes(undefined) ? undefined : (wrong.at(-1) ?? "it changed nothing");
};

function wrongChangeSite(model: Model, operation: OperationOf<"changeSite">, body: Body): string | undefined {
  const { siteId, firstChatId, name: newName, status: newStatus, events: areOn, retentionDays } = operation.intent;
  const listed = model.directory.get(siteId);
  const wanted = {
    ...(newName !== undefined && { name: newName }),
    ...(newStatus !== undefined && { status: newStatus }),
    ...(firstChatId !== undefined && { chat_id_floor: firstChatId - 1 }),
    ...(areOn !== undefined && { events: Number(areOn) }),
    ...(retentionDays !== undefined && { retention_days: retentionDays }),
  };
  const shown = ({ name, status, events, retention_days }: Row) => ({
    id: siteId,
    name,
    home: listed?.home,
    status,
    events: events === 1,
    retention_days,
  });
  const rows = answerable(operation, "home_sites", wanted);
  if (rows.length === 0 || listed === undefined) return "it changed nothing";
  const said = rows.filter((each) => unlike(body, shown(each)) === undefined);
  if (said.length === 0) return unlikeAll(body, rows.map(shown));
  // A site whose end came between the two writes gets no copy any more.
  if (hasEnded(listed)) return undefined;
  if (said.every((each) => listed.revision < Number(each.revision))) return "the directory has an older copy";
  const { row } = model.home(listed.home).sites.get(siteId) ?? {};
  const agree =
    row?.name === listed.name && row.status === listed.status && row.retention_days === listed.retentionDays;
  if (row?.revision === listed.revision && !agree) return "home and directory do not agree";
  return firstChatId !== undefined && listed.firstChatId < firstChatId
    ? "the directory lacks first_chat_id"
    : undefined;
}

function wrongIssueApp(model: Model, operation: OperationOf<"issueApp">, body: Body): string | undefined {
  const { siteId, name, secret } = operation.intent;
  const row = lastOf(operation, "apps");
  if (row === undefined) return "it made no app";
  const { appid = "", version = "" } = row;
  if (model.routes.get(String(appid)) !== siteId) return "no route leads to it";
  // The site's end may have taken it since.
  const isGone = hasEnded(model.directory.get(siteId));
  if (!isGone && model.listedApp(String(appid)) === undefined) return "its home does not have it";
  return unlike(body, { appid, secret: secret ?? model.secrets.get(String(version)), name, version });
}

function wrongRevoke(model: Model, { intent, changes, possible }: OperationOf<"revoke">): string | undefined {
  const { appid } = intent;
  if (model.listedApp(appid)?.revoked === false && !possible.has("409")) return "the app is not revoked";
  const isReleased = !model.routes.has(appid) || changes.some(({ table }) => table === "app_routes");
  const siteId = model.routes.get(appid);
  const hasGone = siteId !== undefined && hasEnded(model.directory.get(siteId));
  const isQuiet = model.listedApp(appid) === undefined && !hasGone && !possible.has("409");
  return isQuiet && !isReleased ? "the appid is not released" : undefined;
}

function wrongReseal(model: Model, { call, meanwhile }: Operation, body: Body): string | undefined {
  const { remaining, unopened, homes_down } = body as unknown as {
    remaining: number;
    unopened: number;
    homes_down: string[];
  };
  const { settings } = call;
  const homes = [...model.homes.values()];
  const isShut = (row: Row) =>
    [row.secret, row.previous_secret].some((seal) => seal != null && !hasKeyOf(settings, seal));
  const apps = homes.flatMap((home) => [...home.apps.values()]);
  const webhooks = homes.flatMap((home) => [...home.outbox.webhooks.values()]);
  const isSealed = apps.some(({ row, appid }) => model.moved.has(appid) || isShut(row)) || webhooks.some(isShut);
  // A rotation or the end of an overlap may have removed the seal since it was read.
  if (unopened > 0 && !isSealed && meanwhile.size === 0) return "every seal can be opened";
  if (remaining > 0 || unopened > 0) return undefined;
  for (const home of model.homes.values()) {
    if (homes_down.includes(home.name)) continue;
    if (settings.closedHomes.includes(home.name)) return `${home.name} is closed and not named`;
    const owners = [...home.apps.values()].map(({ row }) => row);
    for (const row of [...owners, ...home.outbox.webhooks.values()]) {
      // Rows of `meanwhile` are excused: another isolate may have another master key, and the home may have been
      // counted before they were written.
      if (meanwhile.has(row.version)) continue;
      const seals = [row.secret, row.previous_secret].filter((seal) => seal != null);
      const others = seals.filter((seal) => sealedWith(seal) !== keyId(settings.masterKey));
      if (others.length > 0) return `${row.appid ?? row.id} is sealed with another key`;
    }
  }
  return undefined;
}
