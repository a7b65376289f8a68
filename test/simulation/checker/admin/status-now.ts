import type { Settings } from "../../world/cloud/settings.ts";
import type { HomeModel } from "../home-model.ts";
import { hasEnded, type Model } from "../model.ts";
import { statusOfCustomer } from "./customer-answers.ts";
import type { Intent, Operation, OperationOf } from "./intents.ts";
import { refusedRedelivery } from "./redeliveries.ts";
import { isContradictory, statusOfRotation } from "./rotations.ts";
import { statusOfSiteEnd } from "./site-ends.ts";
import { isPlace } from "./site-reads.ts";
import { statusOfTokens } from "./tokens.ts";
import { statusOfWebhooks } from "./webhook-answers.ts";

type ChangeOfApp = Extract<Intent, { kind: "rotate" | "endOverlap" | "revoke" }>;

/** The status that a call gets for what is stored now, when no fault meets it. */
export function statusNow(model: Model, { call, intent }: Operation): number {
  const { settings } = call;
  const isMainClosed = settings.closedHomes.includes("main");
  if (intent.kind === "createSite") return isMainClosed ? 503 : 201;
  if (intent.kind === "reseal") return 200;
  if (intent.kind === "createToken" || intent.kind === "deleteToken") return statusOfTokens(model, intent);
  if (intent.kind === "restored") {
    if (!model.homes.has(intent.home)) return 404;
    return settings.closedHomes.includes(intent.home) || intent.force ? 200 : 409;
  }
  if (intent.kind === "rotate" || intent.kind === "endOverlap" || intent.kind === "revoke") {
    return statusOfChange(model, intent, call);
  }
  if (intent.kind === "read") throw new Error("what is read has its own rules");
  const site = model.directory.get(intent.siteId);
  if (site === undefined) return 404;
  if (intent.kind === "deleteSite") return statusOfSiteEnd(model, site, intent, settings);
  if (hasEnded(site)) return 404;
  if (intent.kind === "issueApp" && isMainClosed) return 503;
  if (site.status === "creating") {
    const malformed = intent.kind === "redeliverMany" ? refusedRedelivery(intent, call.clock) : undefined;
    return malformed ?? 409;
  }
  if (intent.kind === "exportSite") return isPlace(intent) ? 200 : 400;
  if (intent.kind === "eraseCustomer" || intent.kind === "exportCustomer") {
    return statusOfCustomer(model, site.home, intent, settings.closedHomes);
  }
  const home = model.home(site.home);
  const webhooks = statusOfWebhooks(home, intent, call);
  if (webhooks !== undefined) return webhooks;
  switch (intent.kind) {
    case "changeSite":
      if (home.deletions.has(intent.siteId)) return 409;
      if (!home.sites.has(intent.siteId)) return 404;
      return isTooLow(model, home, intent) ? 400 : 200;
    case "issueApp": {
      if (!home.sites.has(intent.siteId)) return 404;
      const routed = intent.appid === undefined ? undefined : model.routes.get(intent.appid);
      const isTaken = routed !== undefined && routed !== intent.siteId;
      if (isTaken || home.apps.has(`${intent.siteId}/${intent.appid}`)) return 409;
      return home.deletions.has(intent.siteId) ? 404 : 201;
    }
    case "addAgent":
      if (!home.sites.has(intent.siteId)) return 404;
      return home.agents.has(`${intent.siteId}/${intent.id}`) ? 409 : 201;
    case "changeAgent":
      return home.agents.has(`${intent.siteId}/${intent.id}`) ? 200 : 404;
    default:
      throw new Error(`no status is known of ${intent.kind}`);
  }
}

/**
 * First_chat_id must be above every id so far, or equal to its last value. A restored home may lack ids that the
 * directory knows.
 */
function isTooLow(
  model: Model,
  home: HomeModel,
  { siteId, firstChatId }: OperationOf<"changeSite">["intent"],
): boolean {
  if (firstChatId === undefined) return false;
  const site = home.sites.get(siteId);
  if (firstChatId < (model.directory.get(siteId)?.firstChatId ?? 0)) return true;
  return firstChatId <= home.highestId(siteId) && firstChatId - 1 !== site?.floor;
}

function statusOfChange(
  model: Model,
  intent: ChangeOfApp,
  { clock, settings }: { clock: number; settings: Settings },
): number {
  if (intent.kind === "rotate" && isContradictory(intent)) return 400;
  const app = model.listedApp(intent.appid);
  if (app === undefined) return intent.kind === "revoke" ? statusOfRelease(model, intent.appid, settings) : 404;
  if (intent.kind === "revoke") return 204;
  if (app.revoked || (intent.expected !== undefined && intent.expected !== app.version)) return 409;
  if (intent.kind === "endOverlap") return 200;
  const status = statusOfRotation(intent, app.row, clock, settings);
  return status === 200 && model.moved.has(app.appid) ? 500 : status;
}

function statusOfRelease(model: Model, appid: string, { closedHomes }: Settings): number {
  const siteId = model.routes.get(appid);
  if (siteId === undefined || hasEnded(model.directory.get(siteId))) return 404;
  const home = model.directory.get(siteId)?.home ?? "";
  return closedHomes.includes("main") || closedHomes.includes(home) ? 503 : 204;
}
