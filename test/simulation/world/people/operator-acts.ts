import type { Chance } from "../../machine/chance.ts";
import { WEBHOOK_ACTS, type WebhookAct } from "./webhook-day.ts";

/** The acts of an operator, by their weights. */
export const ACTS = {
  disableAgent: 4,
  enableAgent: 5,
  renameAgent: 1,
  touchDisabledAgent: 3,
  addAgent: 1,
  rotate: 5,
  rotateTwice: 1,
  endOverlap: 2,
  touchOverlap: 2,
  revoke: 1,
  issueApp: 2,
  release: 10,
  importTakenAppid: 1,
  createSite: 1,
  renameSite: 1,
  raiseFirstChatId: 1,
  closeSite: 6,
  touchClosedSite: 4,
  twoAtOnce: 8,
};

export type Act = keyof typeof ACTS | WebhookAct;

/**
 * Draws some of the acts, because one act can hide the effects of another. Acts that disable need the act that enables.
 */
export function drawActs(chance: Chance, hasEvents: boolean): Partial<Record<Act, number>> {
  const all = { ...ACTS, ...(hasEvents && WEBHOOK_ACTS) };
  const acts = chance.some(Object.entries(all) as [Act, number][], 0.7);
  return Object.fromEntries([...acts, ["enableAgent", ACTS.enableAgent]]);
}
