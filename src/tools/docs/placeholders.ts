/**
 * What a reader's own values stand for in the examples: the address of the deployment, and an app and an agent that the console's link
 * to the docs names. The page's script fills them in; without it they are read as they are.
 */
const PLACEHOLDERS: [text: string, attribute: string][] = [
  ["https://sessions.example.com", "data-origin"],
  ["YOUR_APPID", "data-appid"],
];

/** The agent of the examples. In other blocks the number means this very agent. */
const AGENT = "10411";

/** HTML of code with its placeholders marked. */
export function fillable(html: string): string {
  const marked = PLACEHOLDERS.reduce(
    (text, [placeholder, attribute]) => text.replaceAll(placeholder, `<span ${attribute}>${placeholder}</span>`),
    html,
  );
  if (!html.includes("YOUR_APPID")) return marked;
  return marked.replaceAll(new RegExp(`\\b${AGENT}\\b`, "g"), `<span data-agent>${AGENT}</span>`);
}
