/** The address a client is counted under; of IPv6 the first 64 bits, since whoever has one address there has all that follow. */
export function clientAddress(request: Request): string {
  const address = request.headers.get("cf-connecting-ip") ?? "unknown";
  if (!address.includes(":")) return address;
  const [head = [], tail = []] = address.split("::").map((half) => half.split(":").filter((group) => group !== ""));
  const zeros = Array<string>(Math.max(0, 8 - head.length - tail.length)).fill("0");
  return [...head, ...zeros, ...tail].slice(0, 4).join(":");
}
