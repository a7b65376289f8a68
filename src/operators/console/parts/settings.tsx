import type { Child } from "hono/jsx";

/** A setting: what it is on one side, and what changes it on the other. */
export interface Setting {
  title: string;
  text?: Child;
  id?: string;
  change: Child;
}

/** A card of settings. What is false is left out. */
export const Settings = ({ rows }: { rows: readonly (Setting | false)[] }) => (
  <div class="card settings">
    {rows.map(
      (row) =>
        row && (
          <section id={row.id}>
            <div>
              <h2>{row.title}</h2>
              {row.text && <p class="hint">{row.text}</p>}
            </div>
            <div class="change">{row.change}</div>
          </section>
        ),
    )}
  </div>
);
