import type { Row } from "../../platform/database.ts";
import type { Call } from "../../world/call.ts";
import { ADMIN_TOKEN } from "../../world/cloud/settings.ts";
import { clientKey } from "../signed/limits.ts";
import { hashOf } from "./token-text.ts";

/** What counts of an operator for what a read shows. */
export interface Reader {
  onlySite: number | undefined;
  isViewer: boolean;
}

/** The token that a call brings: docs/operating.md, "Admin API". */
export function bearerOf({ wire }: Call): string | undefined {
  return /^Bearer +(\S+)$/i.exec(wire.headers.authorization ?? "")?.[1];
}

export const isRoot = (call: Call): boolean => bearerOf(call) === ADMIN_TOKEN;

/** The hash of the token of a call; undefined without one, and for the root's. */
export function hashBy(call: Call): string | undefined {
  const token = bearerOf(call);
  return token === undefined || token === ADMIN_TOKEN ? undefined : hashOf(token);
}

/** Who makes a change, as the audit log names them: docs/operating.md, "The audit log". */
export const whoIs = (call: Call, token: Row | undefined) =>
  isRoot(call)
    ? { who_kind: "root", who_id: "root", who_name: "ADMIN_TOKEN" }
    : { who_kind: "token", who_id: token?.id ?? null, who_name: token?.name ?? null };

export const NOBODY = { who_kind: null, who_id: null, who_name: null };

/** The network of a call's address, which is all that is stored of it; null without an address. */
export function networkOf(call: Call): string | null {
  const address = call.wire.headers["cf-connecting-ip"];
  if (address === undefined) return null;
  if (!address.includes(":")) return `${address.split(".").slice(0, 3).join(".")}.0/24`;
  const [first = "0", second = "0", third = "0"] = clientKey(call).split(":");
  return `${[first, second, third].join(":")}::/48`;
}
