import type { PageContext } from "../env.ts";
import { show } from "../layout.tsx";
import { Ask, type Question } from "./ask.tsx";
import type { FramedSite } from "./site-frame.tsx";

/** A page that asks an operator to confirm a dangerous change to a site, an app or a webhook. */
export const askPage = (c: PageContext, site: FramedSite, { title, ...question }: Question & { title: string }) =>
  show(c, { title, site, body: <Ask view={c.var.view} {...question} /> });
