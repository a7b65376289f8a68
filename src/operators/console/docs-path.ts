import { withParameter } from "./console-path.ts";
import type { View } from "./view.ts";

/** The values of an app that the examples of the docs show instead of their own. */
interface Examples {
  appid?: string | undefined;
  agentId?: number | undefined;
}

/**
 * The address of a page of the docs in the reader's language.
 *
 * @param page its address after `/docs/`, which may end in an anchor: `integrating#sign`. Anchors are the same in both languages
 */
export function docsPath({ language }: View, page = "", { appid, agentId }: Examples = {}): string {
  const [path = "", anchor] = page.split("#");
  const address = `/docs/${language === "zh" ? "zh/" : ""}${path === "" ? "" : `${path}/`}`;
  const withApp = appid === undefined ? address : withParameter(address, "appid", appid);
  const withAgent = agentId === undefined ? withApp : withParameter(withApp, "agent", String(agentId));
  return anchor === undefined ? withAgent : `${withAgent}#${anchor}`;
}
