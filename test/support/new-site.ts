import { env } from "cloudflare:workers";
import { Isolate } from "./isolate.ts";
import { seedAgents } from "./seed-agents.ts";

export interface Site {
  siteId: number;
  home: string;
  appid: string;
  secret: string;
}

/** Made on the real bindings, so that a faulty or counting binding of the test sees only the test's own calls. */
const operators = new Isolate();

/** A new site with an app in a home, made through the admin API at NOW, with agents 1, 2 and 3 in normal status and 4 disabled. */
export async function newSite(home = "main"): Promise<Site> {
  const { id: siteId } = await made<{ id: number }>("/admin/sites", { name: "Site", home });
  const { appid, secret } = await made<{ appid: string; secret: string }>(`/admin/sites/${siteId}/apps`, {
    name: "App",
  });
  await seedAgents({ siteId, home }, [1, 2, 3], [4]);
  return { siteId, home, appid, secret };
}

async function made<T>(path: string, body: Record<string, unknown>): Promise<T> {
  const answer = await operators.admin("POST", path, body);
  if (!answer.ok) throw new Error(`POST ${path}: ${answer.status} ${await answer.text()}`);
  return answer.json<T>();
}

/**
 * Makes a site one that is in the directory and not yet in its home, `apac`. Its name is its own: {@link newSite} would finish a site of
 * the same name, and have its rows.
 */
export async function unfinish({ siteId }: { siteId: number }): Promise<void> {
  const begin = "UPDATE sites SET status = 'creating', home = 'apac', name = 'Unfinished ' || id WHERE id = ?";
  await env.DB.prepare(begin).bind(siteId).run();
}
