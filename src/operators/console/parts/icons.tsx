const PATHS = {
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14m5 12 5 5",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  check: "m4 12.5 5.5 5.5L20 7",
  warning: "M12 3 2 20.5h20zM12 9.5v5m0 3v.01",
  external: "M14 4h6v6m0-6-9 9M18 14v6H4V6h6",
  more: "M5 12v.01M12 12v.01M19 12v.01",
  filter: "M4 6h16M7 12h10m-7 6h4",
  close: "m6 6 12 12M18 6 6 18",
  key: "M8 11a4 4 0 1 0 0 8 4 4 0 0 0 0-8m3 1 9-9m-4 4 3 3",
} as const;

/** A small picture beside a text. It adds nothing to the text. */
export function Icon({ name }: { name: keyof typeof PATHS }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
