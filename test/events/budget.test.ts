import { describe, expect, it } from "vitest";
import { Budget, MOST_HOMES, type PlaceCandidate } from "../../src/events/budget.ts";

const candidate = (siteId: number, change: Partial<PlaceCandidate> = {}): PlaceCandidate => ({
  siteId,
  inFlight: 0,
  isSuspect: false,
  isNew: false,
  hasPing: false,
  ...change,
});
const sound = (siteId: number) => candidate(siteId);
const suspect = (siteId: number) => candidate(siteId, { isSuspect: true });
const added = (siteId: number) => candidate(siteId, { isSuspect: true, isNew: true });
const unknown = (siteId: number) => candidate(siteId, { isSuspect: undefined });

/** The share of each webhook as `wanted/whenSuspect`, or `-` for a webhook without a place. */
function shares(...all: PlaceCandidate[]): string[] {
  const shared = new Budget({ elapsed: () => 0 }, 1).share(all);
  return all.map((each) => {
    const share = shared.get(each);
    return share === undefined ? "-" : `${share.wanted}/${share.whenSuspect}`;
  });
}

describe("the six places of a home", () => {
  it("sound webhooks share the six places of a home evenly, in their order", () => {
    expect(shares(sound(1), sound(2)).map((share) => share[0])).toEqual(["3", "3"]);
    expect(shares(...[1, 2, 3, 4, 5, 6, 7].map(sound)).map((share) => share[0])).toEqual([..."111111-"]);
  });

  it("while sound webhooks want all six places, one suspect webhook has one place, and several have two", () => {
    expect(shares(sound(1), sound(2), suspect(3))).toEqual(["2/0", "2/0", "2/2"]);
    expect(shares(sound(1), sound(2), suspect(3), suspect(4), suspect(5))).toEqual(["2/0", "2/0", "1/1", "1/1", "-"]);
  });

  it("webhooks that may be suspect have at most two of six places, whatever is known of them", () => {
    expect(shares(...[1, 2, 3].map(unknown))).toEqual(["2/1", "2/1", "2/0"]);
    expect(shares(unknown(1))).toEqual(["6/2"]);
    expect(shares(candidate(1, { isSuspect: true, inFlight: 2 }), sound(2))).toEqual(["-", "5/0"]);
    const kinds = [sound, suspect, unknown];
    const fours = kinds.flatMap((a) => kinds.flatMap((b) => kinds.flatMap((c) => kinds.map((d) => [a, b, c, d]))));
    const most = fours.map((four) =>
      shares(...four.map((kind, at) => kind(at))).reduce((sum, share) => sum + Number(share.split("/")[1] ?? 0), 0),
    );
    expect(Math.max(...most)).toBe(2);
  });

  it("one site has at most three of six places while another site waits", () => {
    expect(shares(sound(1), sound(1), sound(1), sound(1), sound(2)).map((share) => share[0])).toEqual([..."111-1"]);
  });

  it("a ping gets a place first, even when its webhook is suspect and has taken its places", () => {
    const pinged = candidate(9, { isSuspect: true, inFlight: 2, hasPing: true });
    expect(shares(...[1, 2, 3, 4, 5, 6].map(sound), pinged).map((share) => share[0])).toEqual([..."11111-1"]);
  });

  it("pings of suspect webhooks get all places except one when another webhook has something due", () => {
    const pinged = [1, 2, 3, 4, 5, 6, 7].map((site) => candidate(site, { isSuspect: true, hasPing: true }));
    expect(shares(...pinged, sound(8)).map((share) => share[0])).toEqual([..."11111--1"]);
    expect(shares(...pinged).map((share) => share[0])).toEqual([..."111111-"]);
  });

  it("a new webhook gets a place before the other suspect webhooks", () => {
    expect(shares(...[1, 2, 3].map(suspect), added(9))).toEqual(["1/1", "-", "-", "1/1"]);
  });
});

describe("the places of a home that shares an invocation", () => {
  const sharesAmong = (homes: number, all: PlaceCandidate[]) => [
    ...new Budget({ elapsed: () => 0 }, homes).share(all).keys(),
  ];

  it("a suspect webhook and a sound webhook get places at once, even with the most homes", () => {
    for (const other of [suspect, added]) {
      const both = [other(1), sound(2)];
      expect(sharesAmong(MOST_HOMES, both)).toEqual(both);
    }
  });

  it.each([
    ["", false],
    [", also beside some that are added anew each time", true],
  ])("each webhook gets a place in turn when the served ones go to the end%s", (_, staysNew) => {
    const kinds = [sound, suspect, added];
    const fours = kinds.flatMap((a) => kinds.flatMap((b) => kinds.flatMap((c) => kinds.map((d) => [a, b, c, d]))));
    for (const homes of Array.from({ length: MOST_HOMES }, (_, i) => i + 1)) {
      for (const four of fours) {
        let line = four.map((kind, at) => kind(at % 2));
        const unserved = new Set(line);
        for (let turns = 0; turns < 2 * four.length; turns++) {
          const served = sharesAmong(homes, line);
          for (const each of served) {
            each.isNew &&= staysNew;
            unserved.delete(each);
          }
          line = [...line.filter((each) => !served.includes(each)), ...served];
        }
        expect([...unserved]).toEqual([]);
      }
    }
  });
});
