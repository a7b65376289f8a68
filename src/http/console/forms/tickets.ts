import { type ConsoleSession, isMac, macOf } from "../../../services/console-sessions.ts";

/** How long a ticket is valid unless told otherwise, and so how long a page shows a new secret or the result of a form. */
const TICKET_SECONDS = 600;

/** Whether a form was made for this session. */
export async function isFormToken({ id, key }: ConsoleSession, token: string): Promise<boolean> {
  const [nonce, mac] = token.split(".");
  return nonce !== undefined && mac !== undefined && isMac(key, ["form", id, nonce], mac);
}

/** A proof in an address that the console redirected this session there, for one purpose and time. It holds no secret. */
export async function ticketFor(
  { id, key }: ConsoleSession,
  purpose: string[],
  now: number,
  seconds = TICKET_SECONDS,
): Promise<string> {
  const expiresAt = String(now + seconds);
  return `${expiresAt}.${await macOf(key, ["ticket", id, expiresAt, ...purpose])}`;
}

/** Unix seconds until which a ticket is valid; undefined when it is not. */
export async function ticketEnd(
  { id, key }: ConsoleSession,
  purpose: string[],
  ticket: string,
  now: number,
): Promise<number | undefined> {
  const [expiresAt = "", mac = ""] = ticket.split(".");
  if (!(Number(expiresAt) > now)) return undefined;
  return (await isMac(key, ["ticket", id, expiresAt, ...purpose], mac)) ? Number(expiresAt) : undefined;
}
