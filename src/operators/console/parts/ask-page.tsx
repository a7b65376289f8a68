import type { PageContext } from "../env.ts";
import { showPage } from "../layout.tsx";
import { Ask, type Confirmation } from "./ask.tsx";
import type { FramedSite } from "./site-frame.tsx";

/** A page that asks an operator to confirm a dangerous change to a site, an app or a webhook. */
export const askPage = (c: PageContext, site: FramedSite, { title, ...question }: Confirmation & { title: string }) =>
  showPage(c, { title, site, body: <Ask view={c.var.view} {...question} /> });
