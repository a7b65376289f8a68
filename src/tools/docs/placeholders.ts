/**
 * The texts that the reader's own values replace in the examples: the address of the deployment, and the app and agent in the address
 * of the console's link to the docs. The page's script replaces them. Without the script they stay.
 */
const PLACEHOLDERS: [text: string, attribute: string][] = [
  ["https://sessions.example.com", "data-origin"],
  ["YOUR_APPID", "data-appid"],
];

/** The agent of the examples. It is replaced only in blocks with YOUR_APPID: in other blocks, the text is about exactly this agent. */
const AGENT = "10411";

/** HTML of code with its placeholders marked. */
export function fillableHtml(html: string): string {
  const marked = PLACEHOLDERS.reduce(
    (text, [placeholder, attribute]) => text.replaceAll(placeholder, `<span ${attribute}>${placeholder}</span>`),
    html,
  );
  if (!html.includes("YOUR_APPID")) return marked;
  return marked.replaceAll(new RegExp(`\\b${AGENT}\\b`, "g"), `<span data-agent>${AGENT}</span>`);
}
