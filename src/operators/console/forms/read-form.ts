import { ServiceError } from "../../../core/errors.ts";
import { readBytes } from "../../../core/http/read-body.ts";
import type { PageContext } from "../env.ts";

/** Large enough for the largest signed body with every byte escaped, and the fields that the sign-in page adds. */
const MAX_FORM_BYTES = 260 * 1024;

/**
 * The fields of a posted form.
 *
 * @throws ServiceError `media_type_unsupported`; and as {@link readBytes} does
 */
export async function readForm(c: PageContext): Promise<Record<string, string>> {
  if (!/^application\/x-www-form-urlencoded\b/i.test(c.req.header("content-type") ?? "")) {
    throw new ServiceError("media_type_unsupported", { reason: "content_type_not_form" });
  }
  const bytes = await readBytes(c.var.isolate.runtime, c.req.raw, MAX_FORM_BYTES);
  return Object.fromEntries(new URLSearchParams(new TextDecoder().decode(bytes)));
}

/** The number of a field that holds digits, undefined for an empty field, otherwise its text, which the schema refuses. */
export function wholeNumber(text: string): number | string | undefined {
  if (text.trim() === "") return undefined;
  return /^\s*\d+\s*$/.test(text) ? Number(text) : text;
}
