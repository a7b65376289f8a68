import type { ConsoleSession } from "../../services/console-sessions.ts";
import { isMac, macOf } from "../../services/digests.ts";

/** How long a ticket is valid by default. A page shows a new secret, or the result of a form, for this time. */
export const TICKET_SECONDS = 600;

/** Whether a form was made for this session. */
export async function isFormToken({ id, key }: ConsoleSession, token: string): Promise<boolean> {
  const [nonce, mac] = token.split(".");
  return nonce !== undefined && mac !== undefined && isMac(key, ["form", id, nonce], mac);
}

/** A proof that the console itself redirected this session to an address. It is for one purpose, ends at a time, and holds no secret. */
export async function ticketFor({ id, key }: ConsoleSession, purpose: string[], now: number, seconds = TICKET_SECONDS) {
  const expiresAt = String(now + seconds);
  return `${expiresAt}.${await macOf(key, ["ticket", id, expiresAt, ...purpose])}`;
}

/** The end of a ticket in Unix seconds; undefined when the ticket is not valid now. */
export async function ticketEnd({ id, key }: ConsoleSession, purpose: string[], ticket: string, now: number) {
  const [expiresAt = "", mac = ""] = ticket.split(".");
  if (!(Number(expiresAt) > now)) return undefined;
  return (await isMac(key, ["ticket", id, expiresAt, ...purpose], mac)) ? Number(expiresAt) : undefined;
}
