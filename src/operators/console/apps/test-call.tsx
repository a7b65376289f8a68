import { searchAgents } from "../../services/agents.ts";
import type { Site } from "../../services/sites.ts";
import { signTestCall, TEST_CUSTOMER } from "../../services/test-call.ts";
import type { PageContext } from "../env.ts";
import { formAction } from "../forms/form-action.ts";
import type { FilledForm } from "../forms/messages.ts";
import { readForm } from "../forms/read-form.ts";
import { showPage } from "../layout.tsx";
import { Field, Form, FormErrors } from "../parts/form.tsx";
import { EmptyState } from "../parts/parts.tsx";
import { refusedLocation } from "../secrets/end-overlap.tsx";
import { appOf } from "./app-of.tsx";
import { resultLocation, type TestResult } from "./test-result.tsx";

/** How many agents the form offers as responsible agents. */
const MOST_OFFERED = 100;

/** Asks before a test call, which opens a session. The page says what is stored and who becomes the responsible agent. */
export async function testCallPage(c: PageContext, siteOfPath: Site, filledForm?: FilledForm): Promise<Response> {
  const { ctx, view } = c.var;
  const { t } = view;
  const { app, site, path, isActive } = await appOf(c, siteOfPath);
  if (!isActive) return c.redirect(path, 303);
  const { items } = await searchAgents(ctx, { site: siteOfPath, status: "normal", limit: MOST_OFFERED });
  const action = `${path}/test`;
  const body = (
    <>
      <FormErrors filled={filledForm} fields={{ agent: t("Responsible agent") }} />
      {items.length === 0 ? (
        <EmptyState title={t("No agent is enabled.")}>
          <span>{t("A session needs a responsible agent. Add or enable one first.")}</span>
          <a class="button" href={`/console/sites/${site.id}/agents`}>
            {t("To the agents")}
          </a>
        </EmptyState>
      ) : (
        <section class="card">
          <p>
            {t(
              "Signs create_gd with the secret of this app and sends it through every step that a call of your program passes. It opens a real session, and webhooks get its event.",
            )}
          </p>
          <dl class="facts">
            <dt>{t("App")}</dt>
            <dd>
              <bdi>{app.name}</bdi>
            </dd>
            <dt>{t("Customer")}</dt>
            <dd>
              <code>{TEST_CUSTOMER}</code>
            </dd>
            <dt>{t("Title")}</dt>
            <dd>{wordsOf(c).title}</dd>
          </dl>
          <Form action={action}>
            <input type="hidden" name="version" value={app.version} />
            <Field
              label={t("Responsible agent")}
              name="agent"
              value={filledForm?.values.agent}
              error={filledForm?.errors.agent}
              options={items.map(({ id, name }) => [String(id), `${name} (${id})`])}
            />
            <div class="buttons">
              <button type="submit">{t("Send a test call")}</button>
              <a class="button plain" href={path}>
                {t("Cancel")}
              </a>
            </div>
          </Form>
        </section>
      )}
    </>
  );
  return showPage(c, { title: t("Send a test call"), site, back: action, body, filled: filledForm });
}

/** Answers the form of {@link testCallPage}: sends the call once, and redirects to the page with its result. */
export async function postTestCall(c: PageContext, siteOfPath: Site): Promise<Response> {
  const { view } = c.var;
  const { app, path, isActive } = await appOf(c, siteOfPath);
  if (!isActive) return c.redirect(path, 303);
  const form = await readForm(c);
  const { agent = "", version = "" } = form;
  return formAction(c, form, {
    values: { agent },
    entered: /^[1-9]\d{0,15}$/.test(agent)
      ? { input: { site: siteOfPath, appid: app.appid, version, agentId: Number(agent) } }
      : { errors: { agent: view.t("Choose an agent.") } },
    page: (filledForm) => testCallPage(c, siteOfPath, filledForm),
    list: path,
    work: async (input) => {
      try {
        return await resultLocation(c, path, await send(c, input));
      } catch (error) {
        return refusedLocation(c, path, error);
      }
    },
  });
}

type TestCallInput = Omit<Parameters<typeof signTestCall>[1], "words">;

async function send(c: PageContext, wanted: TestCallInput): Promise<TestResult> {
  const { ctx, isolate, sendSigned } = c.var;
  const { path, body, signature } = await signTestCall(ctx, { ...wanted, words: wordsOf(c) });
  const address = c.req.header("cf-connecting-ip");
  const request = new Request(new URL(path, c.req.url), {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-chat-signature": signature,
      ...(address !== undefined && { "cf-connecting-ip": address }),
    },
    body,
  });
  const since = isolate.runtime.elapsed();
  const { answer, reason, violations } = await sendSigned(request, c.env, c.executionCtx);
  const text = await answer.text();
  return {
    status: answer.status,
    body: text,
    requestId: answer.headers.get("x-request-id") ?? "",
    ms: Math.round(isolate.runtime.elapsed() - since),
    reason,
    explanation: { detail: answer.headers.get("x-error-detail"), violations: violations ?? [] },
  };
}

function wordsOf(c: PageContext) {
  const { t } = c.var.view;
  return {
    title: t("Test call from the console"),
    customer: t("Test customer"),
    content: t("This is a test call that an operator sent from the console."),
  };
}
