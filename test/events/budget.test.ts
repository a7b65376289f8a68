import { describe, expect, it } from "vitest";
import { Budget, type Claimant } from "../../src/events/budget.ts";

const claimant = (siteId: number, change: Partial<Claimant> = {}): Claimant => ({
  siteId,
  inFlight: 0,
  isFailing: false,
  hasPing: false,
  ...change,
});
const healthy = (siteId: number) => claimant(siteId);
const failing = (siteId: number) => claimant(siteId, { isFailing: true });
const unknown = (siteId: number) => claimant(siteId, { isFailing: undefined });

/** `wanted/whenFailing` of each webhook; `-` for one that gets no place. */
function shares(...all: Claimant[]): string[] {
  const shared = new Budget({ elapsed: () => 0 }, 1).share(all);
  return all.map((each) => {
    const share = shared.get(each);
    return share === undefined ? "-" : `${share.wanted}/${share.whenFailing}`;
  });
}

describe("the six places of a home", () => {
  it("are shared evenly between healthy webhooks, in their order", () => {
    expect(shares(healthy(1), healthy(2)).map((share) => share[0])).toEqual(["3", "3"]);
    expect(shares(...[1, 2, 3, 4, 5, 6, 7].map(healthy)).map((share) => share[0])).toEqual([..."111111-"]);
  });

  it("are kept for failing webhooks while healthy ones want all, one for one, two for more", () => {
    expect(shares(healthy(1), healthy(2), failing(3))).toEqual(["2/0", "2/0", "2/2"]);
    expect(shares(healthy(1), healthy(2), failing(3), failing(4), failing(5))).toEqual([
      "2/0",
      "2/0",
      "1/1",
      "1/1",
      "-",
    ]);
  });

  it("are two at most for webhooks that may fail, whatever is known of them", () => {
    expect(shares(...[1, 2, 3].map(unknown))).toEqual(["2/1", "2/1", "2/0"]);
    expect(shares(unknown(1))).toEqual(["6/2"]);
    expect(shares(claimant(1, { isFailing: true, inFlight: 2 }), healthy(2))).toEqual(["-", "5/0"]);
    const kinds = [healthy, failing, unknown];
    const fours = kinds.flatMap((a) => kinds.flatMap((b) => kinds.flatMap((c) => kinds.map((d) => [a, b, c, d]))));
    const most = fours.map((four) =>
      shares(...four.map((kind, at) => kind(at))).reduce((sum, share) => sum + Number(share.split("/")[1] ?? 0), 0),
    );
    expect(Math.max(...most)).toBe(2);
  });

  it("are three at most for one site while another waits", () => {
    expect(shares(healthy(1), healthy(1), healthy(1), healthy(1), healthy(2)).map((share) => share[0])).toEqual([
      ..."111-1",
    ]);
  });

  it("go to a ping first, also of a failing webhook whose places are taken", () => {
    const pinged = claimant(9, { isFailing: true, inFlight: 2, hasPing: true });
    expect(shares(...[1, 2, 3, 4, 5, 6].map(healthy), pinged).map((share) => share[0])).toEqual([..."11111-1"]);
  });
});
