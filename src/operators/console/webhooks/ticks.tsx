import type { Child } from "hono/jsx";

/** What can be ticked: the name of a box, or the value of a choice. */
interface Tick {
  name: string;
  label: Child;
  isTicked: boolean;
  hint?: string;
}

/**
 * Boxes to tick, each with its own name.
 *
 * @param props `id` is the one that an error of all of them leads to; `choice` makes them the values of one field, of which one is chosen
 */
export function Ticks(props: {
  id?: string;
  legend: string;
  hint?: string | false | undefined;
  ticks: Tick[];
  choice?: string;
  error?: string | undefined;
  children?: Child;
}) {
  const { id, legend, hint, ticks, choice, error } = props;
  return (
    <fieldset id={id} aria-describedby={error && `${id}-error`}>
      <legend>{legend}</legend>
      {hint && <p class="hint">{hint}</p>}
      {ticks.map((tick) => (
        <p class="tick">
          <Box {...tick} choice={choice} />
        </p>
      ))}
      {error && (
        <p class="error" id={`${id}-error`}>
          {error}
        </p>
      )}
      {props.children}
    </fieldset>
  );
}

function Box({ name, label, isTicked, hint, choice }: Tick & { choice: string | undefined }) {
  const id = choice === undefined ? name : `${choice}-${name}`;
  const field = choice === undefined ? { type: "checkbox", name } : { type: "radio", name: choice, value: name };
  return (
    <>
      <input id={id} {...field} checked={isTicked} aria-describedby={hint && `${id}-hint`} />
      <label for={id}>{label}</label>
      {hint && (
        <span class="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
    </>
  );
}
