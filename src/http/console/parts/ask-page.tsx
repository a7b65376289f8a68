import type { PageContext } from "../env.ts";
import { show } from "../layout.tsx";
import { Ask, type Question } from "./ask.tsx";
import type { FramedSite } from "./site-frame.tsx";

/** Asks an operator to confirm a dangerous change to a site, or to something of it. */
export const askPage = (c: PageContext, site: FramedSite, { title, ...question }: Question & { title: string }) =>
  show(c, { title, site, body: <Ask view={c.var.view} {...question} /> });
