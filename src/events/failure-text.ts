/** The meaning of the statuses that Cloudflare sends itself when the receiver's host does not answer. */
const MEANINGS: Record<number, string> = {
  520: "the host answers no HTTP",
  521: "the host refuses connections",
  522: "the connection timed out",
  523: "the host cannot be reached",
  524: "the host takes the request and does not answer",
  525: "the TLS handshake failed",
  526: "the host's certificate is invalid",
};

/** The meaning of the number in the body of Cloudflare's answer 530. */
const MEANINGS_OF_530: Record<string, string> = { 1016: "the host name does not resolve" };

/** The whole body of an answer that Cloudflare itself sends to a program. Browsers get a page. */
const EDGE_BODY = /^error code: (\d+)$/;

/**
 * A failed post in words.
 *
 * @param bodyText the start of the answer's body, on one line
 */
export function failureText(status: number, bodyText: string): string {
  const [edge = "", code = ""] = EDGE_BODY.exec(bodyText) ?? [];
  if (status === 530 && MEANINGS_OF_530[code] !== undefined)
    return `HTTP ${status}, error ${code}: ${MEANINGS_OF_530[code]}`;
  const meaning = MEANINGS[status];
  return [`HTTP ${status}`, meaning, meaning === undefined || edge === "" ? bodyText : ""].filter(Boolean).join(": ");
}

/** The starts of {@link failureText} that the service itself writes. The text after such a start is the receiver's. */
export const FAILURE_WORDS = [
  ...Object.entries(MEANINGS).map(([status, meaning]) => `HTTP ${status}: ${meaning}`),
  ...Object.entries(MEANINGS_OF_530).map(([code, meaning]) => `HTTP 530, error ${code}: ${meaning}`),
];
