import type { Child, PropsWithChildren } from "hono/jsx";

/** A row of a page of settings: the setting on one side, and what changes it on the other. */
export function Setting(props: PropsWithChildren<{ title: string; text?: Child; id?: string }>) {
  const { title, text, id, children } = props;
  return (
    <section id={id}>
      <div>
        <h2>{title}</h2>
        {text && <p class="hint">{text}</p>}
      </div>
      <div class="change">{children}</div>
    </section>
  );
}
