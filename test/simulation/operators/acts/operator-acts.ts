import { WEBHOOK_ACTS, type WebhookAct } from "../../deliveries/acts/webhook-day.ts";
import type { Chance } from "../../machine/chance.ts";

/** The acts of an operator, with their weights. */
export const ACTS = {
  disableAgent: 4,
  enableAgent: 5,
  addAgent: 1,
  rotate: 5,
  endOverlap: 2,
  revoke: 1,
  issueApp: 2,
  release: 10,
  createSite: 1,
  raiseFirstChatId: 1,
  closeSite: 8,
  siteTwice: 2,
  rotateAndRevoke: 1,
};

export type Act = keyof typeof ACTS | WebhookAct;

/**
 * Draws some of the acts, because one act can hide the effects of another. An act that disables something is drawn only
 * together with the act that enables it.
 */
export function drawActs(chance: Chance, hasEvents: boolean): Partial<Record<Act, number>> {
  const all = { ...ACTS, ...(hasEvents && WEBHOOK_ACTS) };
  const acts = chance.some(Object.entries(all) as [Act, number][], 0.7);
  return Object.fromEntries([...acts, ["enableAgent", ACTS.enableAgent]]);
}
