import { EVENT_TYPES, newWebhookSchema } from "../../services/webhooks.ts";
import { enteredFields } from "../forms/form-action.ts";
import type { FilledForm } from "../forms/messages.ts";
import { Field, Form, FormErrors } from "../parts/form.tsx";
import type { View } from "../view.ts";

/** Types of events that inform a webhook about the other webhooks of its site. */
const ABOUT_OTHERS = EVENT_TYPES.filter((type) => type.startsWith("webhook."));

/** The values of {@link WebhookForm}: the URL, and one field for each ticked type of event. */
export const webhookValues = (url: string, events: readonly string[] = EVENT_TYPES): Record<string, string> => ({
  url,
  ...Object.fromEntries(events.map((type) => [type, "on"])),
});

/** Reads a sent {@link WebhookForm} for `formAction`. */
export function sentWebhook(view: View, form: Record<string, string>) {
  const { url = "" } = form;
  const events = EVENT_TYPES.filter((type) => form[type] !== undefined);
  return {
    values: webhookValues(url, events),
    entered: enteredFields(view, newWebhookSchema.safeParse({ url, events })),
  };
}

export const WebhookFormErrors = ({ view, filledForm }: { view: View; filledForm: FilledForm | undefined }) => (
  <FormErrors
    filled={filledForm}
    fields={{
      events: view.t("Events"),
      overlap_seconds: view.t("Overlap"),
      ends: view.t("Which secret stops"),
      url: "URL",
    }}
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
    <Form action={props.action}>
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
        {ABOUT_OTHERS.length > 0 && (
          <p class="hint">{view.t("{0} tell about the site's other webhooks.", ABOUT_OTHERS.join(view.t(", ")))}</p>
        )}
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
