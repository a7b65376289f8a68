/** Cloudflare gives this address to every call from a Worker of another zone, and puts that zone into `cf-worker`. */
const WORKERS = "2a06:98c0:3600::103";

/**
 * The key that a client's failures are counted under. It has the first 64 bits of an IPv6 address, because a client usually owns all
 * addresses that share them. For a Worker it has the zone too.
 */
export function clientAddress(request: Request): string {
  const address = request.headers.get("cf-connecting-ip") ?? "unknown";
  if (!address.includes(":")) return address;
  const network = groupsOf(address).slice(0, 4).join(":");
  return address === WORKERS ? `${network} ${request.headers.get("cf-worker") ?? ""}` : network;
}

/**
 * The network of a client, as it is stored: `192.0.2.0/24` or `2001:db8:7::/48`. Null when the header holds no address: without
 * Cloudflare in front, a caller may write anything into it.
 */
export function clientNetwork(request: Request): string | null {
  const address = request.headers.get("cf-connecting-ip") ?? "";
  const host = address.includes(":") ? `[${address}]` : address;
  if (!/^(?:\d{1,3}(?:\.\d{1,3}){3}|\[[\da-f:.]+\])$/i.test(host) || !URL.canParse(`http://${host}/`)) return null;
  if (address.includes(":")) return `${groupsOf(address).slice(0, 3).join(":")}::/48`;
  return `${address.split(".").slice(0, 3).join(".")}.0/24`;
}

/** The eight groups of an IPv6 address. */
function groupsOf(address: string): string[] {
  const [head = [], tail = []] = address.split("::").map((half) => half.split(":").filter((group) => group !== ""));
  const zeros = Array<string>(Math.max(0, 8 - head.length - tail.length)).fill("0");
  return [...head, ...zeros, ...tail];
}
