import { ServiceError } from "../../../core/errors.ts";
import { readBytes } from "../../../core/http/read-body.ts";
import { consolePath } from "../console-path.ts";
import type { PageContext } from "../env.ts";

/** Large enough for the largest signed body with every byte escaped, and the fields that the sign-in page adds. */
const MAX_FORM_BYTES = 260 * 1024;

/** Fields that are not kept: secrets, the token that carries a form out, and what the sign-in page adds. */
const UNKEPT = ["form", "secret", "token", "next", "kept"];

/**
 * Reads the fields of a posted form into `c.var.form`. `c.var.sent` keeps them for a page that offers the form again. The sign-in page and
 * the language switch send along the form of another page.
 *
 * @throws ServiceError `media_type_unsupported`; and as {@link readBytes} does
 */
export async function readForm(c: PageContext): Promise<void> {
  if (!/^application\/x-www-form-urlencoded\b/i.test(c.req.header("content-type") ?? "")) {
    throw new ServiceError("media_type_unsupported", { reason: "content_type_not_form" });
  }
  const bytes = await readBytes(c.var.isolate.runtime, c.req.raw, MAX_FORM_BYTES);
  const form = Object.fromEntries(new URLSearchParams(new TextDecoder().decode(bytes)));
  const pathsOfOthers = new Map([
    ["/console/sign-in", form.kept],
    ["/console/language", c.req.query("draft")],
  ]);
  const path = pathsOfOthers.has(c.req.path) ? pathsOfOthers.get(c.req.path) : c.req.path;
  const values = Object.fromEntries(Object.entries(form).filter(([name]) => !UNKEPT.includes(name)));
  c.set("sent", path === undefined ? undefined : { path: consolePath(path), values });
  c.set("form", form);
}
