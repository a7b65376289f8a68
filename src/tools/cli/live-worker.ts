/** The deployed Worker, through Cloudflare's API. wrangler asks questions about secrets, and does not show a Worker's bindings. */
import { CLOSED_LIST, homeOfBinding, homeOfSecret, namesIn } from "../../core/homes.ts";
import { LOGIN, NotDeployed } from "./create-databases.ts";
import type { Io } from "./io.ts";

/** The deployed Worker that Cloudflare runs now. */
export interface ServedVersion {
  /** The names of its secrets. Nobody can read their values. */
  secrets: string[];
  /** The homes that are closed by secrets or by {@link list}. */
  closed: string[];
  /** The homes in the var CLOSED_HOMES. Undefined when it has no such var, which means that no older release serves. */
  list: string[] | undefined;
  databases: ReadonlyMap<string, string>;
}

/** A binding, as the API returns it. */
type Binding = { name: string; type: string; text?: string; id?: string; database_id?: string } & Record<
  string,
  unknown
>;

const API = "https://api.cloudflare.com/client/v4";

/** The API's errors when the newest version does not serve all requests, after a rollback or during a gradual deployment. */
const NEWEST_NOT_SERVING = [10214, 10215];

/** The API's errors for a Worker that does not exist. */
const NO_WORKER = [10007, 10090];

/** The API's error for a secret that the Worker does not have. */
const NO_SECRET = 10056;

const LIMIT_MS = 30_000;

/** A refusal of the API. The API's own words are the message. */
class ApiError extends NotDeployed {
  readonly codes: readonly number[];

  constructor(message: string, codes: readonly number[]) {
    super(message);
    this.codes = codes;
  }
}

export class LiveWorker {
  readonly name: string;
  readonly #account: string;
  readonly #script: string;
  readonly #headers: Record<string, string>;

  private constructor(name: string, account: string, headers: Record<string, string>) {
    this.name = name;
    this.#account = account;
    this.#script = `${account}/workers/scripts/${name}`;
    this.#headers = headers;
  }

  /**
   * Uses wrangler's credentials and account. It does not ask about the Worker yet.
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
    return new LiveWorker(name, `${api}/accounts/${account}`, headers);
  }

  /** @throws NotDeployed, also when the Worker does not exist */
  async serving(): Promise<ServedVersion> {
    const bindings = await this.#bindings();
    const secrets = (await this.#ask<{ name: string }[]>(`${this.#script}/secrets`)).map(({ name }) => name);
    const text = bindings.find(({ name, type }) => name === CLOSED_LIST && type === "plain_text")?.text;
    const list = text === undefined ? undefined : namesIn(text);
    const databases = bindings.flatMap(({ name, type, id, database_id = id ?? "" }) => {
      const home = type === "d1" ? homeOfBinding(name) : undefined;
      return home === undefined ? [] : [[home, database_id] as const];
    });
    const closed = new Set([...secrets.flatMap((name) => homeOfSecret(name) ?? []), ...(list ?? [])]);
    return { secrets, closed: [...closed].sort(), list, databases: new Map(databases) };
  }

  /**
   * @returns undefined when the Worker does not exist yet
   * @throws NotDeployed for every other failure, because an API that does not answer does not say which homes are closed
   */
  async servingIfAny(): Promise<ServedVersion | undefined> {
    try {
      return await this.serving();
    } catch (error) {
      if (error instanceof ApiError && error.codes.some((code) => NO_WORKER.includes(code))) return undefined;
      throw error;
    }
  }

  /** The name of a database. @throws NotDeployed */
  async nameOfDatabase(id: string): Promise<string> {
    return (await this.#ask<{ name: string }>(`${this.#account}/d1/database/${id}`)).name;
  }

  /** Sets a secret of the serving Worker. The code and all other settings stay. @throws NotDeployed */
  async setSecret(name: string, text: string): Promise<void> {
    await this.#ask(`${this.#script}/secrets`, {
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ name, text, type: "secret_text" }),
    });
  }

  /** Succeeds also when somebody else has just deleted it. @throws NotDeployed */
  async deleteSecret(name: string): Promise<void> {
    try {
      await this.#ask(`${this.#script}/secrets/${name}`, { method: "DELETE" });
    } catch (error) {
      if (!(error instanceof ApiError && error.codes.includes(NO_SECRET))) throw error;
    }
  }

  /**
   * Gives a var another value. Code, secrets, databases and all other bindings stay.
   *
   * @throws NotDeployed
   */
  async setText(name: string, text: string): Promise<void> {
    const before = await this.#bindings();
    // The list must hold every binding, because the API removes the others. A binding with only name and type stays as it is.
    const otherBindings = before
      .filter((each) => each.name !== name)
      .map((each) => ({ name: each.name, type: each.type }));
    const form = new FormData();
    form.set("settings", JSON.stringify({ bindings: [...otherBindings, { name, type: "plain_text", text }] }));
    await this.#ask(`${this.#script}/settings`, { method: "PATCH", body: form });
    const after = await this.#bindings();
    const lost = otherBindings.filter((each) => !after.some((now) => now.name === each.name)).map((each) => each.name);
    if (lost.length === 0) return;
    throw new NotDeployed(
      `Worker ${this.name} has lost ${lost.join(", ")}. Bring back what served before: npx wrangler rollback --name ${this.name}`,
    );
  }

  async #bindings(): Promise<Binding[]> {
    return (await this.#ask<{ bindings?: Binding[] }>(`${this.#script}/settings`)).bindings ?? [];
  }

  #ask<Result>(url: string, { headers, ...request }: RequestInit & { headers?: Record<string, string> } = {}) {
    return askApi<Result>(url, { ...request, headers: { ...this.#headers, ...headers } });
  }
}

async function credentials(shared: readonly string[], io: Io): Promise<Record<string, string>> {
  const { exitCode, stdout, output } = await io.wrangler(["auth", "token", "--json", ...shared]);
  if (exitCode !== 0) throw new NotDeployed(`There are no credentials for the account:\n${output}\n${LOGIN}`);
  const { token, key, email } = JSON.parse(stdout) as { token?: string; key?: string; email?: string };
  if (token !== undefined) return { authorization: `Bearer ${token}` };
  return { "x-auth-key": key ?? "", "x-auth-email": email ?? "" };
}

async function onlyAccount(api: string, headers: Record<string, string>): Promise<string> {
  const [account, ...otherAccounts] = await askApi<{ id: string }[]>(`${api}/accounts`, { headers });
  if (account !== undefined && otherAccounts.length === 0) return account.id;
  throw new NotDeployed("There is not exactly one account: say which in CLOUDFLARE_ACCOUNT_ID.");
}

/** @throws NotDeployed with the API's error */
async function askApi<Result>(url: string, request: RequestInit): Promise<Result> {
  try {
    const response = await fetch(url, { ...request, signal: AbortSignal.timeout(LIMIT_MS) });
    const answer = (await response.json()) as { result: Result; errors: { code: number; message: string }[] };
    const { result, errors = [] } = answer;
    if (response.ok && errors.length === 0) return result;
    const errorsText = errors.map(({ code, message }) => `${message} [code: ${code}]`).join("\n");
    const why = errors.some(({ code }) => NEWEST_NOT_SERVING.includes(code))
      ? "\nThe newest version is not the one that serves: somebody rolled back, or a gradual deployment is under way. Deploy the release that serves, then run this again."
      : "";
    throw new ApiError(
      `${request.method ?? "GET"} ${new URL(url).pathname}: ${response.status}\n${errorsText}${why}`,
      errors.map(({ code }) => code),
    );
  } catch (error) {
    if (error instanceof NotDeployed) throw error;
    const { message, cause } = error as Error;
    throw new NotDeployed(`${new URL(url).host} gave no answer: ${cause instanceof Error ? cause.message : message}`);
  }
}
