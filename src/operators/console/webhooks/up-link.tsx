/** A link above the body of a page, to the webhook that the page is about. */
export function UpLink({ href, name }: { href: string; name: string }) {
  return (
    <p class="lead">
      <a href={href}>{name}</a>
    </p>
  );
}
