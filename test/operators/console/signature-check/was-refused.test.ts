import { jsx } from "hono/jsx";
import { describe, expect, it } from "vitest";
import chinese from "../../../../src/assets/console/zh.json";
import { describeViolations } from "../../../../src/core/describe-violations.ts";
import type { Violation } from "../../../../src/core/rules.ts";
import { WasRefused } from "../../../../src/operators/console/signature-check/verdict.tsx";
import { type View, ViewContext } from "../../../../src/operators/console/view.ts";
import { plain } from "../../../support/console-page.ts";
import { NOW } from "../../../support/test-runtime.ts";

const viewOf = (texts: Record<string, string>) =>
  ({
    t: (english, ...values) =>
      (texts[english] ?? english).replace(/\{(\d)\}/g, (_, index) => String(values[Number(index)] ?? "")),
    time: (seconds) => `time ${seconds}`,
  }) as View;

const pageOf = (texts: Record<string, string>, reason: string, status: number, violations: Violation[] | null) => {
  const call = {
    requestId: "0192f0c1-0000-7000-8000-000000000001",
    appid: "shop",
    at: NOW,
    status,
    reason,
    detail: violations && describeViolations(violations),
    violations,
  };
  const view = viewOf(texts);
  // A component takes its texts and times from the page around it.
  return String(jsx(ViewContext.Provider, { value: view }, jsx(WasRefused, { call })));
};

describe("a refused call above the signature check", () => {
  it("the signature check shows a refused call's answer, reason, faults, cure and the server's own words", () => {
    const html = pageOf({}, "fields_invalid", 400, [{ field: "sbs", rule: "required" }]);
    expect(html).toContain('<p class="found">sbs is missing.</p>');
    expect(plain(html)).toBe(
      `This call was answered 400 参数错误 sbs is missing. x-error-detail: sbs: is required time ${NOW} · 0192f0c1-0000-7000-8000-000000000001`,
    );
  });

  it("the signature check shows a refused call's reason above its faults when the faults do not explain it", () => {
    const unknown: Violation = { field: "kefu_id", rule: "agents_fit", agents: [{ id: 99, why: "unknown" }] };
    const html = pageOf({}, "agents_invalid", 400, [unknown]);
    expect(plain(html)).toContain(
      "An agent was unknown, foreign or disabled. kefu_id: Unknown on this site: 99. Send enabled agents of this site",
    );
  });

  it("the signature check shows a refused call in Chinese on the Chinese page, also without a detail", () => {
    const text = plain(pageOf(chinese, "ranstr_claimed_in_d1", 401, null));
    expect(text).toContain("此调用得到的返回是 401 token验证失败! 随机串（ranstr）已被使用过。");
    expect(text).not.toMatch(/x-error-detail|null/);
  });
});
