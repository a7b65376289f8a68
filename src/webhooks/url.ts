export const MOST_URL_CHARACTERS = 2_048;

/** Names that no public name server knows. */
const PRIVATE_NAME =
  /(^|\.)(localhost|local|localdomain|internal|intranet|private|corp|home|lan|home\.arpa|test|invalid|example|onion)$/;

/** Of this machine, as the URL parser spells it: it makes `127.0.0.1` of `0x7f.1` and of `2130706433`. */
const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/**
 * Why events cannot be posted to a URL, as the end of a sentence that starts with the field's name; undefined when they can.
 *
 * @param loopback whether http and any port are allowed on this machine
 */
export function webhookUrlFault(text: string, { loopback }: { loopback: boolean }): string | undefined {
  if (text.length > MOST_URL_CHARACTERS) return `must have at most ${MOST_URL_CHARACTERS} characters`;
  // The parser would trim blanks, and leave out line breaks and tabs.
  const url = /[\s\p{Cc}]/u.test(text) ? null : URL.parse(text);
  if (url === null) return "must be an absolute https URL";
  if (url.username !== "" || url.password !== "") return "must hold no user and no password";
  if (text.includes("#")) return "must have no fragment";
  if (loopback && /^https?:$/.test(url.protocol) && LOOPBACK.test(url.hostname)) return undefined;
  if (url.protocol !== "https:") return "must be an absolute https URL";
  // One dot at the end is the same name.
  const host = url.hostname.replace(/\.$/, "");
  if (host.startsWith("[") || /^[\d.]+$/.test(host)) return "must name a host, not an IP address";
  if (!/^[^.]+(\.[^.]+)+$/.test(host) || PRIVATE_NAME.test(host)) return "must have a public host name";
  // The parser leaves out 443.
  return url.port === "" ? undefined : "must use port 443";
}
