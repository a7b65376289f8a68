/** The deployed Worker, through Cloudflare's API: wrangler has no command that changes a var and keeps the code. */
import { NotDeployed } from "./create-databases.ts";
import type { Io } from "./io.ts";

/** A binding, as the API returns it. A secret comes without its value. */
type Binding = { name: string; type: string; text?: string } & Record<string, unknown>;

const API = "https://api.cloudflare.com/client/v4";

/** The API's errors when the newest version does not serve all requests: after a rollback, or in the middle of a gradual deployment. */
const NEWEST_NOT_SERVING = [10214, 10215];

const LIMIT_MS = 30_000;

export class LiveWorker {
  readonly name: string;
  readonly #url: string;
  readonly #headers: Record<string, string>;

  private constructor(name: string, url: string, headers: Record<string, string>) {
    this.name = name;
    this.#url = url;
    this.#headers = headers;
  }

  /**
   * Uses wrangler's credentials and account. Sends no request about the Worker yet.
   *
   * @param accountId the account of the configuration
   * @param shared    options that choose the account
   * @throws NotDeployed
   */
  static async find(
    name: string,
    accountId: string | undefined,
    shared: readonly string[],
    io: Io,
  ): Promise<LiveWorker> {
    const headers = await credentials(shared, io);
    const api = io.env.CLOUDFLARE_API_BASE_URL ?? API;
    const account = accountId ?? io.env.CLOUDFLARE_ACCOUNT_ID ?? (await onlyAccount(api, headers));
    return new LiveWorker(name, `${api}/accounts/${account}/workers/scripts/${name}/settings`, headers);
  }

  /**
   * @returns the value of a var; "" when the Worker does not have it
   * @throws NotDeployed
   */
  async textOf(name: string): Promise<string> {
    return (await this.#bindings()).find((each) => each.name === name)?.text ?? "";
  }

  /**
   * Gives a var another value. Code, secrets, databases and all other bindings stay.
   *
   * @throws NotDeployed
   */
  async setText(name: string, text: string): Promise<void> {
    const before = await this.#bindings();
    // The list must hold every binding, or the API removes it. A binding with only name and type stays as it is.
    const kept = before.filter((each) => each.name !== name).map((each) => ({ name: each.name, type: each.type }));
    const form = new FormData();
    form.set("settings", JSON.stringify({ bindings: [...kept, { name, type: "plain_text", text }] }));
    await ask(this.#url, { method: "PATCH", headers: this.#headers, body: form });
    const after = await this.#bindings();
    const lost = kept.filter((each) => !after.some((now) => now.name === each.name)).map((each) => each.name);
    if (lost.length > 0) {
      throw new NotDeployed(
        `Worker ${this.name} has lost ${lost.join(", ")}. Bring back what served before: npx wrangler rollback --name ${this.name}`,
      );
    }
    if (after.find((each) => each.name === name)?.text !== text) {
      throw new NotDeployed(
        `Cloudflare took ${name} = ${JSON.stringify(text)}, but Worker ${this.name} does not have it yet. Run this again to look.`,
      );
    }
  }

  async #bindings(): Promise<Binding[]> {
    const { bindings } = await ask<{ bindings?: Binding[] }>(this.#url, { headers: this.#headers });
    return bindings ?? [];
  }
}

async function credentials(shared: readonly string[], io: Io): Promise<Record<string, string>> {
  const { exitCode, stdout, output } = await io.wrangler(["auth", "token", "--json", ...shared]);
  if (exitCode !== 0) throw new NotDeployed(`There are no credentials for the account:\n${output}`);
  const { token, key, email } = JSON.parse(stdout) as { token?: string; key?: string; email?: string };
  if (token !== undefined) return { authorization: `Bearer ${token}` };
  return { "x-auth-key": key ?? "", "x-auth-email": email ?? "" };
}

async function onlyAccount(api: string, headers: Record<string, string>): Promise<string> {
  const [account, ...others] = await ask<{ id: string }[]>(`${api}/accounts`, { headers });
  if (account !== undefined && others.length === 0) return account.id;
  throw new NotDeployed("There is not exactly one account: say which in CLOUDFLARE_ACCOUNT_ID.");
}

/** @throws NotDeployed with the API's own error */
async function ask<Result>(url: string, request: RequestInit): Promise<Result> {
  try {
    const response = await fetch(url, { ...request, signal: AbortSignal.timeout(LIMIT_MS) });
    const answer = (await response.json()) as { result: Result; errors: { code: number; message: string }[] };
    const { result, errors = [] } = answer;
    if (response.ok && errors.length === 0) return result;
    const said = errors.map(({ code, message }) => `${message} [code: ${code}]`).join("\n");
    const why = errors.some(({ code }) => NEWEST_NOT_SERVING.includes(code))
      ? "\nThe newest version is not the one that serves: somebody rolled back, or a gradual deployment is under way."
      : "";
    throw new NotDeployed(`${request.method ?? "GET"} ${new URL(url).pathname}: ${response.status}\n${said}${why}`);
  } catch (error) {
    if (error instanceof NotDeployed) throw error;
    const { message, cause } = error as Error;
    throw new NotDeployed(`${new URL(url).host} gave no answer: ${cause instanceof Error ? cause.message : message}`);
  }
}
