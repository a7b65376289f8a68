import { Description, Inline } from "../inline.tsx";
import type { Field } from "../schema.ts";
import { type Components, rulesBeside, typeText } from "../schema.ts";
import type { Texts } from "../texts.ts";

/** Fields, one a row: name and type, whether the field is required, and its description. */
export function FieldTable(props: { texts: Texts; fields: Field[]; components: Components; answer?: boolean }) {
  const { texts, fields, components, answer = false } = props;
  const { t } = texts;
  if (fields.length === 0) return null;
  return (
    <div class="scroll" tabindex={0}>
      <table class="fields">
        <tbody>
          {fields.map((field) => (
            <tr>
              <th scope="row">
                <code>{field.name}</code>
                <small>{typeText(t, field.schema, components)}</small>
                {!answer && field.required && <small class="required">{t("required")}</small>}
              </th>
              <td>
                <Description texts={texts} text={field.schema.description as string | undefined} />
                <Rules rules={rulesBeside(texts, field, components)} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Rules({ rules }: { rules: string[] }) {
  if (rules.length === 0) return null;
  return (
    <p class="rules">
      {rules.map((rule) => (
        <span>
          <Inline text={rule} />
        </span>
      ))}
    </p>
  );
}
