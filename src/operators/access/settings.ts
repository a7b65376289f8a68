import { type RoleLists, readRoleList, SETTING_OF_ROLE } from "./person-role.ts";

/** How operators sign in to the console: with the ADMIN_TOKEN or a token of their own, by Cloudflare Access, or in either way. */
export const SIGN_INS = ["token", "access", "both"] as const;
export type SignIn = (typeof SIGN_INS)[number];

/** The vars that this file reads. Any may be missing. */
export interface AccessVars {
  CONSOLE_SIGN_IN?: string | undefined;
  ACCESS_TEAM_DOMAIN?: string | undefined;
  ACCESS_AUD?: string | undefined;
  ACCESS_CERTS_URL?: string | undefined;
  CONSOLE_OWNERS?: string | undefined;
  CONSOLE_OPERATORS?: string | undefined;
  CONSOLE_VIEWERS?: string | undefined;
}

export interface AccessSettings {
  /** The `iss` of every assertion of the team. */
  issuer: string;
  /** The `aud` of the Access application that guards the console. */
  audience: string;
  /** Where the team's public keys are. */
  certsUrl: string;
  roles: RoleLists;
}

export interface SignInSettings {
  signIn: SignIn;
  /** Undefined unless people sign in by Access and all its settings can be used. */
  access: AccessSettings | undefined;
  /** Why nobody can sign in by Access: a sentence without its full stop. It holds no value of a setting. */
  accessFault: string | undefined;
}

const TEAM_DOMAIN = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.cloudflareaccess\.com$/;
const LOOPBACK = ["127.0.0.1", "localhost", "[::1]"];

/**
 * How operators sign in. Signed calls do not need these settings, so a wrong one is no ConfigurationError: nobody can sign in by Access,
 * and the console says why.
 */
export function accessSettings(env: AccessVars): SignInSettings {
  const signInSetting = env.CONSOLE_SIGN_IN?.trim() || "token";
  const signIn = SIGN_INS.find((each) => each === signInSetting);
  if (signIn === undefined) return shutConsole("access", `CONSOLE_SIGN_IN must be ${SIGN_INS.map(quote).join(" or ")}`);
  // An operator who mistyped "access" thinks that tokens are refused. So the console must not accept them.
  if (signIn === "token") return { signIn, access: undefined, accessFault: undefined };
  const domainSetting = env.ACCESS_TEAM_DOMAIN?.trim() ?? "";
  if (domainSetting === "") return shutConsole(signIn, "ACCESS_TEAM_DOMAIN is not set");
  const teamDomain = teamDomainOf(domainSetting);
  if (teamDomain === undefined) return shutConsole(signIn, "ACCESS_TEAM_DOMAIN is not like team.cloudflareaccess.com");
  const audience = env.ACCESS_AUD?.trim() ?? "";
  if (audience === "") return shutConsole(signIn, "ACCESS_AUD is not set");
  if (/[\s,]/.test(audience)) return shutConsole(signIn, "ACCESS_AUD holds a blank or a comma");
  const issuer = `https://${teamDomain}`;
  const certsUrl = loopbackUrl(env.ACCESS_CERTS_URL) ?? `${issuer}/cdn-cgi/access/certs`;
  const entriesOf = (role: keyof typeof SETTING_OF_ROLE) => readRoleList(env[SETTING_OF_ROLE[role]]).entries;
  const roles = { viewer: entriesOf("viewer"), operator: entriesOf("operator"), owner: entriesOf("owner") };
  return { signIn, access: { issuer, audience, certsUrl, roles }, accessFault: undefined };
}

/** What the log says of the settings, once per isolate. */
export function accessWarnings({ signIn, access, accessFault }: SignInSettings, env: AccessVars): string[] {
  if (signIn === "token") return [];
  if (access === undefined) return [`${accessFault}: nobody can sign in to the console by Cloudflare Access`];
  const unusable = Object.values(SETTING_OF_ROLE)
    .filter((list) => readRoleList(env[list]).unusable > 0)
    .map((list) => `${list} has an entry that is no e-mail address and not like *@example.com: it counts for nobody`);
  const isEmpty = Object.values(access.roles).every((entries) => entries.length === 0);
  const nobody = `${Object.values(SETTING_OF_ROLE).join(", ")} name nobody: everybody who comes by Cloudflare Access is refused`;
  return isEmpty ? [...unusable, nobody] : unusable;
}

const shutConsole = (signIn: SignIn, accessFault: string): SignInSettings => ({
  signIn,
  access: undefined,
  accessFault,
});

const quote = (word: string) => `"${word}"`;

/** Reads the domain in each form that people copy: as a URL, or as the team's name alone. */
function teamDomainOf(domainText: string): string | undefined {
  const host = domainText
    .toLowerCase()
    .replace(/^https:\/\//, "")
    .replace(/\/+$/, "");
  const domain = host.includes(".") ? host : `${host}.cloudflareaccess.com`;
  return TEAM_DOMAIN.test(domain) ? domain : undefined;
}

/** The URL, if it is on this machine: all other keys must come from the team. */
function loopbackUrl(urlText = ""): string | undefined {
  const url = URL.parse(urlText);
  return url !== null && /^https?:$/.test(url.protocol) && LOOPBACK.includes(url.hostname) ? url.href : undefined;
}
