import { ServiceError } from "../../../errors.ts";
import { fieldIssues } from "../../../fields.ts";
import { EVENT_TYPES, newWebhookSchema } from "../../../services/webhooks.ts";
import type { PageContext } from "../env.ts";
import { type Filled, filled } from "../forms/messages.ts";
import { isDraft, once } from "../forms/once.ts";
import { readForm } from "../forms/read-form.ts";
import { Faults, Field, Form } from "../parts/form.tsx";
import type { View } from "../view.ts";

/** What {@link WebhookForm} holds of a webhook: a field for each type of event that is ticked. */
export const webhookValues = (url: string, events: readonly string[] = EVENT_TYPES): Record<string, string> => ({
  url,
  ...Object.fromEntries(events.map((type) => [type, "on"])),
});

/**
 * Carries out a {@link WebhookForm}.
 *
 * @param list path of the page to redirect to when the result is not known
 * @param page shows the form again
 * @param work returns the path to redirect to
 */
export async function sendWebhook(
  c: PageContext,
  list: string,
  page: (again: Filled) => Promise<Response>,
  work: (input: { url: string; events: string[] }) => Promise<string>,
): Promise<Response> {
  const form = await readForm(c);
  const { url = "" } = form;
  const events = EVENT_TYPES.filter((type) => form[type] !== undefined);
  const values = webhookValues(url, events);
  const input = newWebhookSchema.safeParse({ url, events });
  if (!input.success) return page(filled(c.var.view, values, fieldIssues(input.error)));
  if (await isDraft(c, form)) return page({ values, errors: {} });
  return once(c, form, list, async () => {
    try {
      return await work({ url, events });
    } catch (error) {
      if (!(error instanceof ServiceError && error.context.issues)) throw error;
      return page(filled(c.var.view, values, error.context.issues));
    }
  });
}

export const WebhookFaults = ({ view, again }: { view: View; again: Filled | undefined }) => (
  <Faults
    view={view}
    filled={again}
    labels={{ events: view.t("Events"), overlap_seconds: view.t("Overlap"), url: "URL" }}
  />
);

export function WebhookForm(props: {
  view: View;
  action: string;
  values: Record<string, string>;
  errors: Record<string, string> | undefined;
  hint: string;
  button: string;
}) {
  const { view, values, errors = {} } = props;
  return (
    <Form view={view} action={props.action}>
      <Field
        label="URL"
        name="url"
        type="url"
        value={values.url}
        error={errors.url}
        hint={props.hint}
        required
        maxlength={2048}
        code
      />
      <fieldset id="events" aria-describedby={errors.events && "events-error"}>
        <legend>{view.t("Events")}</legend>
        {EVENT_TYPES.map((type) => (
          <p class="tick">
            <input type="checkbox" id={type} name={type} checked={type in values} />
            <label for={type}>
              <code>{type}</code>
            </label>
          </p>
        ))}
        {errors.events && (
          <p class="error" id="events-error">
            {errors.events}
          </p>
        )}
      </fieldset>
      <button type="submit">{props.button}</button>
    </Form>
  );
}
