import type { Child } from "hono/jsx";

/** An agent by name and id. `name` is null when the site no longer has the agent. */
export function AgentName({
  id,
  name,
  href,
}: {
  id: number | null;
  name: string | null;
  href?: string | undefined;
}): Child {
  if (id === null) return "–";
  const shown =
    name === null ? (
      id
    ) : (
      <>
        <bdi>{name}</bdi> ({id})
      </>
    );
  return href === undefined ? shown : <a href={href}>{shown}</a>;
}
