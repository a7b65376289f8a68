import type { Model } from "../model.ts";
import { secretsOf } from "../row-secrets.ts";
import { keyId, openSeal, sealedWith } from "../seals.ts";
import type { Operation, OperationOf, Written } from "./intents.ts";
import { wrongRestoredWrite } from "./restores.ts";
import { wrongEnd, wrongRotation } from "./rotations.ts";
import { becomes, inserts } from "./row-changes.ts";
import { wrongSiteEnd } from "./site-ends.ts";
import { wrongTokenWrite } from "./tokens.ts";
import { wrongWebhookWrite } from "./webhook-writes.ts";

/**
 * What each call of the admin API may write. Each function gets one change of a row and returns how it is wrong,
 * undefined when it is right.
 */

/** @returns how a change by an operator's call is wrong */
export function wrongWrite(model: Model, operation: Operation, change: Written): string | undefined {
  const { intent } = operation;
  switch (intent.kind) {
    case "createSite":
      return wrongCreateSite(model, { ...operation, intent }, change);
    case "changeSite":
      return wrongChangeSite(model, { ...operation, intent }, change);
    case "issueApp":
      return wrongIssueApp(model, { ...operation, intent }, change);
    case "rotate":
      return wrongRotate(model, { ...operation, intent }, change);
    case "endOverlap":
      return wrongEndOverlap({ ...operation, intent }, change);
    case "revoke":
      return wrongRevoke(model, { ...operation, intent }, change);
    case "addAgent":
    case "changeAgent":
      return wrongAgents(model, { ...operation, intent }, change);
    case "reseal":
      return wrongReseal(model, { ...operation, intent }, change);
    case "restored":
      return wrongRestoredWrite(model, { ...operation, intent }, change);
    case "createToken":
      return wrongTokenWrite({ ...operation, intent }, change);
    case "deleteToken":
      return wrongTokenWrite({ ...operation, intent }, change);
    case "eraseCustomer":
      // The whole transaction is checked at once: erasures.ts.
      return undefined;
    case "exportCustomer":
    case "exportSite":
      return "it only reads";
    case "deleteSite":
      return wrongSiteEnd(model, { ...operation, intent }, change);
    case "read":
      return "a read changed something";
    default:
      return wrongWebhookWrite(model, { ...operation, intent }, change);
  }
}

function wrongCreateSite(
  model: Model,
  { call, intent, changes }: OperationOf<"createSite">,
  change: Written,
): string | undefined {
  const { name, home, firstChatId } = intent;
  const row = change.after;
  const isSame = (id: number) => {
    const site = model.directory.get(id);
    return site?.name === name && site.home === home && site.firstChatId === firstChatId;
  };
  if (change.table === "sites" && change.before === null) {
    const begun = [...model.directory].some(([id, { status }]) => status === "creating" && isSame(id));
    if (begun) return "one that was begun is there to be finished";
    if (["main", home].some((each) => model.isEndTold(each, Number(row?.id))))
      return "its id is that of a site that ended";
    const wanted = { name, home, first_chat_id: firstChatId, status: "creating", revision: 0, created_at: call.clock };
    return inserts(change, wanted);
  }
  if (change.table === "sites") {
    const id = Number(row?.id);
    if (!isSame(id) || change.before?.status !== "creating") return "it was not begun";
    if (!model.home(home).sites.has(id)) return "its home does not have it";
    const opened = changes.some(({ table, before }) => table === "sites" && before !== null);
    return opened ? "the call has opened one already" : becomes(change, { status: "open" });
  }
  if (change.table !== "home_sites" || change.home !== home) return "not the place of a new site";
  const begun = model.directory.get(Number(row?.site_id));
  if (begun?.status !== "creating" || !isSame(Number(row?.site_id))) return "the directory has not begun it";
  const created_at = begun.createdAt;
  return inserts(change, { name, status: "open", chat_id_floor: firstChatId - 1, revision: 0, created_at });
}

function wrongChangeSite(
  model: Model,
  { intent, changes, rows, disturbed }: OperationOf<"changeSite">,
  change: Written,
): string | undefined {
  const { siteId, name, status, firstChatId, events, retentionDays } = intent;
  const { before, after } = change;
  const listed = model.directory.get(siteId);
  if (change.table === "home_sites" && change.home === listed?.home) {
    // After a restore the directory may have lost its row, so nothing can be compared.
    if (disturbed) return undefined;
    if (model.home(change.home).deletions.has(siteId)) return "its end has begun";
    const floor = Number(before?.chat_id_floor);
    const isKnown = firstChatId !== undefined && firstChatId - 1 === floor;
    if (firstChatId !== undefined && !isKnown && firstChatId - 1 < model.home(change.home).highestId(siteId)) {
      return "an id at or above first_chat_id was given already";
    }
    // A restored home may lack the floors that the directory knows, and reconciling may have raised them without a new
    // revision.
    const forgotten = listed.revision > Number(before?.revision);
    const isBehind = listed.firstChatId - 1 > floor;
    const chat_id_floor = Number(after?.chat_id_floor);
    if (isBehind && chat_id_floor < listed.firstChatId - 1) return "the directory knows of more ids";
    return becomes(change, {
      site_id: siteId,
      revision: Math.max(Number(before?.revision), listed.revision) + 1,
      ...(forgotten && { name: listed.name, status: listed.status, retention_days: listed.retentionDays }),
      // The home's floor must be at least the directory's.
      ...(isBehind && { chat_id_floor }),
      ...(name !== undefined && { name }),
      ...(status !== undefined && { status }),
      ...(firstChatId !== undefined && { chat_id_floor: firstChatId - 1 }),
      ...(events !== undefined && { events: Number(events) }),
      ...(retentionDays !== undefined && { retention_days: retentionDays }),
    });
  }
  if (change.table !== "sites") return "not the place of a change of a site";
  const known = [...rows, ...changes.flatMap((each) => (each.table === "home_sites" ? [each.after] : []))];
  // Several rows can have the same revision: a hand at the database may raise the floor without a new revision.
  const originals = known.filter((row) => row != null && row.revision === after?.revision);
  const [original] = originals;
  if (original == null) return "the home has no such change";
  if (Number(after?.revision) <= Number(before?.revision)) return "it was newer before";
  const first = Number(after?.first_chat_id);
  if (first < Math.max(Number(before?.first_chat_id), firstChatId ?? 0)) return "first_chat_id is lower";
  if (originals.every((row) => first > Number(row?.chat_id_floor) + 1)) return "first_chat_id is above the home's";
  return becomes(change, {
    id: siteId,
    first_chat_id: first,
    name: original.name ?? "",
    status: original.status ?? "",
    revision: original.revision ?? 0,
    retention_days: original.retention_days ?? null,
  });
}

function wrongIssueApp(model: Model, operation: OperationOf<"issueApp">, change: Written): string | undefined {
  const { call, intent, changes } = operation;
  const { siteId, name, secret } = intent;
  const row = change.after;
  const appid = String(row?.appid);
  if (intent.appid !== undefined && appid !== intent.appid) return `it is about ${intent.appid}`;
  if (change.table === "app_routes") return wrongReservation(siteId, change);
  if (changes.some(({ table }) => table === change.table)) return "the call has done that already";
  const home = model.directory.get(siteId)?.home;
  if (change.table !== "apps" || change.home !== home) return "not the place of a new app";
  if (model.routes.get(appid) !== siteId) return "no route leads to it";
  const version = String(row?.version);
  if (model.secrets.has(version)) return "its version was given before";
  const opened = openSeal(call.settings, { siteId, appid, version, slot: "current" }, String(row?.secret));
  if (opened === undefined || (secret !== undefined && secret !== opened)) return "its seal does not hold the secret";
  model.secrets.set(version, opened);
  const fresh = { previous_version: null, previous_secret: null, previous_expires_at: null, revoked_at: null };
  return inserts(change, { site_id: siteId, name, created_at: call.clock, ...fresh });
}

/** A route is new for the site, or it exists for this site and only its reservation changes. */
function wrongReservation(site_id: number, change: Written): string | undefined {
  const { before, after } = change;
  const claim = after?.claim ?? null;
  if (claim === null || claim === before?.claim) return "it has no new reservation";
  return before === null ? inserts(change, { site_id }) : becomes(change, { site_id, claim });
}

function wrongRotate(model: Model, operation: OperationOf<"rotate">, change: Written): string | undefined {
  const { call, intent, changes } = operation;
  const { before } = change;
  if (change.table !== "apps" || before?.appid !== intent.appid) return "not the app";
  if (before.revoked_at !== null) return "the app is revoked";
  // Each of two rotations at once may see the other's version and rotate again, but no call may rotate its own version
  // again.
  const isItsOwn = changes.some(({ table, after: row }) => table === "apps" && row?.version === before.version);
  if (isItsOwn || (intent.expected !== undefined && changes.length > 0)) return "the call has rotated already";
  return wrongRotation(model, intent, call, change);
}

function wrongEndOverlap({ intent, changes }: OperationOf<"endOverlap">, change: Written): string | undefined {
  if (change.table !== "apps" || change.before?.appid !== intent.appid) return "not the app";
  if (change.before.revoked_at !== null) return "the app is revoked";
  return wrongEnd(intent.expected, changes, change);
}

function wrongRevoke(model: Model, { call, intent }: OperationOf<"revoke">, change: Written): string | undefined {
  const { before, after } = change;
  if (change.table === "apps") {
    const isActive = before?.appid === intent.appid && before.revoked_at === null;
    return isActive ? becomes(change, { revoked_at: call.clock }) : "not an app to be revoked";
  }
  // Only a route without an app is released. First the site's new revision must end every issuing of the appid that has
  // begun.
  if (model.listedApp(intent.appid) !== undefined) return "the site has the app";
  if (change.table === "home_sites") return becomes(change, { revision: Number(before?.revision) + 1 });
  const isRoute = change.table === "app_routes" && after === null && before?.appid === intent.appid;
  return isRoute ? undefined : "not the route of the appid";
}

function wrongAgents(
  model: Model,
  { intent, changes }: OperationOf<"addAgent" | "changeAgent">,
  change: Written,
): string | undefined {
  const { siteId: site_id, id, name } = intent;
  if (change.table !== "agents" || change.home !== model.directory.get(site_id)?.home) return "not the place of agents";
  if (changes.length > 0) return "the call has done that already";
  if (intent.kind === "addAgent")
    return inserts(change, { site_id, id, name: intent.name, status: "normal", revision: 0 });
  const { status } = intent;
  const revision = Number(change.before?.revision) + 1;
  return becomes(change, {
    revision,
    site_id,
    id,
    ...(name !== undefined && { name }),
    ...(status !== undefined && { status }),
  });
}

function wrongReseal(model: Model, { call }: OperationOf<"reseal">, change: Written): string | undefined {
  const { settings } = call;
  const { before, after } = change;
  if (settings.closedHomes.includes(change.home)) return "the home is closed";
  if (before === null || after === null) return "it neither makes nor removes";
  if (change.table !== "apps" && change.table !== "webhooks") return "no place of secrets";
  const secrets = secretsOf(settings, after);
  if (secrets === undefined || secrets.current !== model.secrets.get(String(after.version))) return "a secret is lost";
  if (after.previous_version != null && secrets.previous !== model.secrets.get(String(after.previous_version))) {
    return "the secret of before is lost";
  }
  for (const column of ["secret", "previous_secret"]) {
    if (after[column] === before[column]) continue;
    if (sealedWith(after[column]) !== keyId(settings.masterKey)) return `${column} is sealed with another key`;
  }
  const { secret = "", previous_secret = null } = after;
  return becomes(change, { secret, previous_secret });
}
