export const MOST_URL_CHARACTERS = 2_048;

/**
 * Host names that public DNS does not have, or that have no web server (`arpa`). A public name with a private address passes, so the
 * network must not reach such an address: see docs/threat-model.md.
 */
const PRIVATE_NAME =
  /(^|\.)(localhost|local|localdomain|internal|intranet|private|corp|home|lan|svc|consul|alt|arpa|test|invalid|example|onion)$/;

/** Names of this machine, as the URL parser writes them: it turns `0x7f.1` and `2130706433` into `127.0.0.1`. */
const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/**
 * Why events cannot be posted to a URL; undefined when they can. The text ends a sentence that starts with the field's name.
 *
 * @param loopback whether http and any port are allowed on this machine
 */
export function webhookUrlMistake(text: string, { loopback }: { loopback: boolean }): string | undefined {
  if (text.length > MOST_URL_CHARACTERS) return `must have at most ${MOST_URL_CHARACTERS} characters`;
  // Blanks, line breaks and tabs are refused here, because the parser would silently remove them.
  const url = /[\s\p{Cc}]/u.test(text) ? null : URL.parse(text);
  if (url === null) return "must be an absolute https URL";
  if (url.username !== "" || url.password !== "") return "must hold no user and no password";
  if (text.includes("#")) return "must have no fragment";
  if (loopback && /^https?:$/.test(url.protocol) && LOOPBACK.test(url.hostname)) return undefined;
  if (url.protocol !== "https:") return "must be an absolute https URL";
  // A dot at the end does not change the name.
  const host = url.hostname.replace(/\.$/, "");
  if (host.startsWith("[") || /^[\d.]+$/.test(host)) return "must name a host, not an IP address";
  if (!/^[^.]+(\.[^.]+)+$/.test(host) || PRIVATE_NAME.test(host)) return "must have a public host name";
  // The parser removes the default port 443.
  return url.port === "" ? undefined : "must use port 443";
}
