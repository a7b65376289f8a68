import { describe, expect, it } from "vitest";
import { checkTimestamp } from "../../../src/operators/diagnosis/check-timestamp.ts";
import { english, sentenceOf } from "../../../src/operators/diagnosis/words.ts";
import { NOW } from "../../support/test-runtime.ts";

const HOUR = 3_600;
const at = (timestamp: number) => {
  const finding = checkTimestamp(timestamp, NOW, 300);
  return [finding.name, sentenceOf(english, finding)];
};

describe("the check of a timestamp", () => {
  it.each<[number, string]>([
    [0, "fresh"],
    [300, "fresh"],
    [-300, "fresh"],
    [301, "timestamp_ahead"],
    [-301, "timestamp_old"],
    [8 * HOUR, "timestamp_local_time"],
    [8 * HOUR - 290, "timestamp_local_time"],
    [8 * HOUR + 290, "timestamp_local_time"],
    [8 * HOUR - 900, "timestamp_ahead"],
    [5.5 * HOUR - 20, "timestamp_local_time"],
    [5.75 * HOUR, "timestamp_local_time"],
    [6.25 * HOUR, "timestamp_ahead"],
    [14 * HOUR, "timestamp_local_time"],
    [15 * HOUR, "timestamp_ahead"],
    [-5 * HOUR, "timestamp_old_local_time"],
    [-1.5 * HOUR, "timestamp_old"],
    [-15 * HOUR, "timestamp_old"],
  ])("the check of a timestamp %s s ahead gives: %s", (ahead, name) => {
    expect(at(NOW + ahead)[0]).toBe(name);
  });

  it.each<[number, string]>([
    [301, "It is 5 min ahead"],
    [8 * HOUR - 240, "It is 8 h ahead"],
    [8 * HOUR - 900, "It is 7 h 45 min ahead"],
    [5.5 * HOUR - 20, "It is 5 h 30 min ahead"],
    [-1_000, "It is 17 min old"],
    [-16 * HOUR, "It is 16 h old"],
    [-60 * HOUR, "It is 3 d old"],
  ])("a timestamp %s s ahead is described in rounded words: %s", (ahead, text) => {
    expect(at(NOW + ahead)[1]).toContain(text);
  });

  it("the distance of a timestamp is in seconds when the tolerance is small", () => {
    expect(sentenceOf(english, checkTimestamp(NOW + 90, NOW, 60))).toContain("It is 90 s ahead; 60 s are allowed");
  });

  it.each<[number, string, string]>([
    [NOW * 1e3, "timestamp_milliseconds", `Send Unix seconds: ${NOW}.`],
    [NOW * 1e6, "timestamp_microseconds", `Send Unix seconds: ${NOW}.`],
    [20270115080000, "timestamp_date", `Send Unix seconds: ${NOW}.`],
    [20271315080000, "timestamp_milliseconds", "Send Unix seconds: 20271315080."],
    [20270115, "timestamp_date", `Send Unix seconds: ${NOW}.`],
    [-5, "timestamp_too_small", `Send Unix seconds: ${NOW}.`],
  ])("the check recognises a timestamp in another unit: %s", (timestamp, name, text) => {
    expect(at(timestamp)).toEqual([name, expect.stringContaining(text)]);
  });
});
