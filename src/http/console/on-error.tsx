import { STATUS_OF } from "../../errors.ts";
import { refusalOf } from "../faults.ts";
import type { PageContext } from "./env.ts";
import { show } from "./layout.tsx";
import { englishView, type View } from "./view.ts";

/** Answers every error of the console with a page. */
export function onError(error: Error, c: PageContext): Response {
  const { code, context } = refusalOf(error, c.var.trace);
  const status = STATUS_OF[code];
  // An error before the reader's language is known is told in English.
  if ((c.var.view as View | undefined) === undefined) c.set("view", englishView(c));
  if (context.retryAfter !== undefined) c.header("retry-after", String(context.retryAfter));
  const { t } = c.var.view;
  const texts: Partial<Record<number, [string, string]>> = {
    400: [t("That address does not make sense"), t("A part of it cannot be read.")],
    403: [
      t("This form came from elsewhere"),
      t("Only the console's own pages may send forms here. Nothing was changed."),
    ],
    404: [t("There is no such page"), t("Nothing here goes by that address.")],
    413: [t("That is too long"), t("Nothing was changed.")],
    503: [
      t("The database does not answer"),
      c.req.method === "GET"
        ? t("Try again in a moment.")
        : t("What you sent may or may not have been done: look before you repeat it."),
    ],
  };
  const fallback = [t("Something went wrong"), t("The log has the details under this id:")];
  const [title = "", text] = texts[status] ?? fallback;
  const body = (
    <section class="card">
      <p>{text}</p>
      <p class="hint">
        x-request-id <code>{c.var.trace.requestId}</code>
      </p>
      <p>
        <a class="button plain" href="/console">
          {t("To the sites")}
        </a>
      </p>
    </section>
  );
  return show(c, { title, back: "/console", body }, status);
}
