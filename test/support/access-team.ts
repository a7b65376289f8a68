import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from "jose";
import { vi } from "vitest";
import type { Runtime } from "../../src/core/runtime.ts";
import { AccessKeys } from "../../src/operators/access/certs.ts";
import { type AccessSettings, accessSettings } from "../../src/operators/access/settings.ts";
import { type AssertionResult, verifyAssertion } from "../../src/operators/access/verify-assertion.ts";
import { keptTelemetry, NOW, runtimeAt } from "./test-runtime.ts";

export const AUDIENCE = "4714c1358e65fe4b408ad6d432a5f878f08194bdb4752441fd56faefa9b2b6f2";

export interface TeamKey {
  kid: string;
  privateKey: CryptoKey;
  publicKey: CryptoKey;
  /** The public key as the certs endpoint shows it. */
  shown: JWK;
}

export async function newTeamKey(kid: string): Promise<TeamKey> {
  const { privateKey, publicKey } = await generateKeyPair("RS256", { extractable: true });
  return { kid, privateKey, publicKey, shown: { ...(await exportJWK(publicKey)), kid, alg: "RS256", use: "sig" } };
}

/** The claims of an assertion that Access makes for a person of this team. */
export const CLAIMS: JWTPayload = {
  aud: [AUDIENCE],
  email: "ada@example.com",
  exp: NOW + 86_400,
  iat: NOW - 60,
  nbf: NOW - 60,
  iss: "https://shop.cloudflareaccess.com",
  type: "app",
  identity_nonce: "cHVTb21lTm9uY2U",
  sub: "7335d417-61da-459d-899c-0a01c76a2f94",
  country: "NL",
};

/** Signs an assertion as Access does. Claims that are undefined are left out. */
export const assertionOf = ({ kid, privateKey }: TeamKey, claims: Record<string, unknown> = {}): Promise<string> =>
  new SignJWT(JSON.parse(JSON.stringify({ ...CLAIMS, ...claims })))
    .setProtectedHeader({ alg: "RS256", kid })
    .sign(privateKey);

/** An isolate that verifies assertions, and the certs endpoint of its team. */
export class AccessTeam {
  /** Milliseconds. A test may change it. */
  readonly clock = { now: NOW * 1000 };
  readonly keptRecords = keptTelemetry();
  readonly settings = accessSettings({
    CONSOLE_SIGN_IN: "access",
    ACCESS_TEAM_DOMAIN: "shop",
    ACCESS_AUD: AUDIENCE,
    CONSOLE_OWNERS: "ada@example.com",
  }).access as AccessSettings;
  readonly fetched: string[] = [];
  /** By how much timers are shortened. */
  haste = 1;
  answer: (init: RequestInit) => Response | Promise<Response>;
  readonly #keys: AccessKeys;
  readonly #runtime: Runtime;

  constructor(answer: AccessTeam["answer"]) {
    this.answer = answer;
    const ownRuntime = runtimeAt(() => this.clock.now);
    const after: Runtime["after"] = (milliseconds, callback) => ownRuntime.after(milliseconds / this.haste, callback);
    this.#runtime = { ...ownRuntime, after };
    this.#keys = new AccessKeys(this.#runtime, this.keptRecords.telemetry);
    vi.stubGlobal("fetch", async (url: string, init: RequestInit) => {
      this.fetched.push(url);
      return this.answer(init);
    });
  }

  /** Lets the certs endpoint show these keys from now on. */
  publishKeys(...keys: TeamKey[]): void {
    this.answer = () => keysResponse(...keys);
  }

  /** Verifies one assertion, and waits for its `waitUntil` work. */
  async verify(assertion: string, change: Partial<AccessSettings> = {}): Promise<AssertionResult> {
    const context = createExecutionContext();
    const verified = await this.verifyLeaving(assertion, (work) => context.waitUntil(work), change);
    await waitOnExecutionContext(context);
    return verified;
  }

  /** Verifies one assertion, and returns its `waitUntil` work too. */
  verifyLeaving(
    assertion: string,
    waitUntil: (work: Promise<unknown>) => void,
    change: Partial<AccessSettings> = {},
  ): Promise<AssertionResult> {
    const tools = { runtime: this.#runtime, keys: this.#keys, waitUntil };
    return verifyAssertion(tools, { ...this.settings, ...change }, assertion);
  }

  async reasonOf(assertion: string, change: Partial<AccessSettings> = {}): Promise<string | undefined> {
    const verified = await this.verify(assertion, change);
    return verified.ok ? undefined : verified.reason;
  }
}

export const keysResponse = (...keys: TeamKey[]): Response => Response.json({ keys: keys.map(({ shown }) => shown) });
