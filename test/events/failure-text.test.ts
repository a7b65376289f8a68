import { describe, expect, it } from "vitest";
import { FAILURE_WORDS, failureText } from "../../src/events/failure-text.ts";

describe("a failed post in words", () => {
  it.each([
    [530, "error code: 1016", "HTTP 530, error 1016: the host name does not resolve"],
    [520, "error code: 520", "HTTP 520: the host answers no HTTP"],
    [521, "error code: 521", "HTTP 521: the host refuses connections"],
    [522, "error code: 522", "HTTP 522: the connection timed out"],
    [523, "error code: 523", "HTTP 523: the host cannot be reached"],
    [524, "error code: 524", "HTTP 524: the host takes the request and does not answer"],
    [525, "error code: 525", "HTTP 525: the TLS handshake failed"],
    [526, "error code: 526", "HTTP 526: the host's certificate is invalid"],
  ])("a failed post with the platform's answer %i %j is described by its meaning", (status, body, text) => {
    expect(failureText(status, body)).toBe(text);
    expect(FAILURE_WORDS).toContain(text);
  });

  it("a failed post is described by the platform's meaning even without a body, and keeps the receiver's words", () => {
    expect(failureText(521, "")).toBe("HTTP 521: the host refuses connections");
    expect(failureText(521, "down for an hour")).toBe("HTTP 521: the host refuses connections: down for an hour");
    expect(failureText(521, "error code: 521 and more")).toBe(
      "HTTP 521: the host refuses connections: error code: 521 and more",
    );
  });

  it.each([
    [500, "", "HTTP 500"],
    [500, "oops", "HTTP 500: oops"],
    [503, "error code: 1016", "HTTP 503: error code: 1016"],
    [530, "error code: 1000", "HTTP 530: error code: 1000"],
    [530, "", "HTTP 530"],
    [527, "error code: 527", "HTTP 527: error code: 527"],
    [530, "error code: __proto__", "HTTP 530: error code: __proto__"],
  ])("a failed post is described by the status and the receiver's words: %i %j", (status, body, text) => {
    expect(failureText(status, body)).toBe(text);
  });
});
