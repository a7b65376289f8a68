import type { Role } from "../access/role.ts";
import type { Who } from "../store/audit.ts";

/** Who makes a call of operators, and what they may do. */
export interface Identity {
  who: Who;
  role: Role;
  /** The one site that the operator sees; undefined for all sites. */
  onlySite: number | undefined;
}

/** The identity of everyone who has the ADMIN_TOKEN. */
export const ROOT: Identity = {
  who: { kind: "root", id: "root", name: "ADMIN_TOKEN" },
  role: "owner",
  onlySite: undefined,
};

/** Whether a person comes by Cloudflare Access, under an e-mail address. Others sign in with a token of their own. */
export const isByAccess = ({ kind, id }: Who): boolean => kind === "person" && id.includes("@");
