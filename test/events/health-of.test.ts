import { expect, it } from "vitest";
import type { EndedAttempt } from "../../src/events/attempt.ts";
import { healthOf } from "../../src/events/health-of.ts";

const NOW = 1_800_000_000;

const attempt = (
  status: EndedAttempt["result"]["status"],
  change: { url?: string; webhookId?: string; isGone?: boolean; wasPosted?: boolean; durationMs?: number } = {},
) => {
  const {
    isGone = false,
    wasPosted = status !== "skipped",
    durationMs = null,
    ...target
  } = { url: "https://a.example.com/", webhookId: "wh_1", ...change };
  return {
    attempt: { siteId: 1, failingSince: 7, ...target },
    result: { status, durationMs },
    wasPosted,
    isGone,
  } as EndedAttempt;
};

const judge = (...all: EndedAttempt[]) =>
  healthOf(all, NOW).map(({ health: { webhookId, url, failedAt, isGone }, knownFailingSince }) => {
    expect(knownFailingSince).toBe(7);
    return [webhookId, url.slice(8, 9), failedAt, isGone];
  });

it("a webhook is failing when all ended attempts failed", () => {
  expect(judge(attempt("pending"), attempt("failed"))).toEqual([["wh_1", "a", NOW, false]]);
});

it("a webhook is not failing when one attempt succeeded, in any order", () => {
  expect(judge(attempt("pending"), attempt("delivered"))).toEqual([["wh_1", "a", null, false]]);
  expect(judge(attempt("delivered"), attempt("pending"))).toEqual([["wh_1", "a", null, false]]);
});

it("a webhook is gone when one attempt was answered 410, even beside a success", () => {
  expect(judge(attempt("failed", { isGone: true }), attempt("delivered"))).toEqual([["wh_1", "a", null, true]]);
});

it("a webhook is slow when the last attempt to end took over 10 s", () => {
  const slow = (...took: number[]) =>
    healthOf(
      took.map((durationMs) => attempt("delivered", { durationMs })),
      NOW,
    ).map(({ health }) => health.slow);
  expect([slow(10_000), slow(10_001), slow(14_000, 50), slow(50, 14_000)]).toEqual([[0], [1], [0], [1]]);
});

it("attempts that were not posted say nothing about a webhook", () => {
  expect(judge(attempt("skipped"), attempt("failed", { wasPosted: false }))).toEqual([]);
});

it("each webhook and each URL is judged separately", () => {
  const others = [attempt("delivered", { webhookId: "wh_2" }), attempt("delivered", { url: "https://b.example.com/" })];
  expect(judge(attempt("pending"), ...others)).toEqual([
    ["wh_1", "a", NOW, false],
    ["wh_2", "a", null, false],
    ["wh_1", "b", null, false],
  ]);
});
