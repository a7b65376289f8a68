import type { PropsWithChildren } from "hono/jsx";
import { Icon } from "./icons.tsx";

/**
 * The actions of a row, behind one button.
 *
 * @param props `label` names the button for readers who do not see it, with the row's name
 */
export function RowMenu({ label, children }: PropsWithChildren<{ label: string }>) {
  return (
    <details class="menu">
      <summary title={label}>
        <Icon name="more" />
        <span class="unseen">{label}</span>
      </summary>
      <div>{children}</div>
    </details>
  );
}
