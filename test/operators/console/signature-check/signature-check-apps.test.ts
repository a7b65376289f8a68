import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { compareAppids } from "../../../../src/operators/services/compare-appids.ts";
import { plain } from "../../../support/console-page.ts";
import { type ConsoleVisitor, start } from "../../../support/console-visitor.ts";
import { checkSignature, pressCheck, verdictOf } from "../../../support/signature-check.ts";
import { hmac, NOW, World } from "../../../support/world.ts";

const issue = async (world: World, more: Record<string, unknown> = {}) => {
  const answer = await world.admin("POST", `/admin/sites/${world.siteId}/apps`, { name: "Other", ...more });
  expect(answer.status).toBe(201);
  return answer.json<{ appid: string; secret: string }>();
};

/** The page of a check whose body names this appid and is signed with this secret. */
async function checkAppid(world: World, visitor: ConsoleVisitor, appid: string, secret = "another") {
  const body = JSON.stringify(world.createBody({ appid }));
  const page = await pressCheck(visitor, { operation: "create_gd", body, signature: await hmac(secret, body) });
  const { answer, lines } = verdictOf(page.html);
  expect(answer).toBe("Sent now, the server answers 401 token验证失败!");
  const marks = [...page.html.matchAll(/<mark>(.*?)<\/mark>/g)].map(([, text = ""]) => plain(text));
  return { page, text: lines.App?.text ?? "", marks };
}

describe("an unknown appid in the signature check", () => {
  let started: Awaited<ReturnType<typeof start>>;
  beforeAll(async () => {
    started = await start("main");
  });

  it.each<[string, (appid: string) => string, string, string[]]>([
    ["a blank at its end", (appid) => `${appid} `, "A blank or another character", ["␣"]],
    ["a newline at its end", (appid) => `${appid}\n`, "A blank or another character", ["[U+000A]"]],
    ["capitals", (appid) => appid.replace("shop", "SHOP"), "Capital and small letters differ", ["SHOP", "shop"]],
    ["a look-alike", (appid) => appid.replace("o0", "oO"), "look alike were exchanged", ["O", "0"]],
    ["a character that is missing", (appid) => appid.slice(1), "One character is wrong, missing", ["s"]],
    ["two that are swapped", (appid) => appid.replace("shop", "shpo"), "or two are swapped", ["po", "op"]],
    ["two slips", (appid) => `${appid.slice(1, -1)}`, "Two characters are wrong", [...""]],
  ])(
    "the signature check compares an unknown appid with existing ones and marks the difference: %s",
    async (_, change, words, marks) => {
      const { world, visitor } = started;
      const appid = `shop-o0-${world.siteId}-${crypto.randomUUID().slice(0, 8)}`;
      await issue(world, { appid });
      const { page, text, marks: shownMarks } = await checkAppid(world, visitor, change(appid));
      expect(text).toContain(`There is no such app. It may be ${appid} of the site`);
      expect(text).toContain(words);
      expect(page.html).toContain(`<a href="/console/sites/${world.siteId}/apps/${appid}"><code>`);
      if (marks.length > 0) expect(shownMarks).toEqual(marks);
    },
  );

  it("the signature check recognises an unknown appid as the app whose secret made the signature, on any site", async () => {
    const { world, visitor } = await start("main");
    const other = await World.create({}, "apac");
    const { text } = await checkAppid(world, visitor, `${other.appid} `, other.secret);
    expect(text).toContain(`It is the app ${other.appid} of the site`);
    expect(text).toContain("its secret makes this signature");
  });

  it("the signature check recognises an unknown appid as the expected app when that app's secret made the signature", async () => {
    const { world, visitor } = await start("main");
    const body = JSON.stringify(world.createBody({ appid: "shop" }));
    const shownText = async (secret: string) =>
      (await checkSignature(visitor, { appid: world.appid, body, signature: await hmac(secret, body) })).lines.App
        ?.text;
    expect(await shownText(world.secret)).toContain(`It is the app ${world.appid} of the site`);
    expect(await shownText("another")).toContain("There is no app shop here.");
  });

  it("the signature check does not compare an unknown appid with one that differs in more than two characters", async () => {
    const { world, visitor } = await start("main");
    const { text, marks } = await checkAppid(world, visitor, world.appid.replace(/^.../, "zzz"));
    expect(text).toContain("There is no app zzz");
    expect(marks).toEqual([]);
    expect((await checkAppid(world, visitor, "§ ?")).text).toContain("There is no app § ?");
  });
});

describe("the comparison of two appids", () => {
  const difference = (input: string, appid: string) => {
    const { givenParts: a, existing: b, ...flags } = compareAppids(input, appid);
    const markedText = (stretches: typeof a) =>
      stretches.map(({ text, differs }) => (differs ? `[${text}]` : text)).join("");
    return [markedText(a), markedText(b), ...Object.entries(flags).filter(([, value]) => value)];
  };

  it.each<[string, string, unknown[]]>([
    ["app_1", "app_1", ["app_1", "app_1"]],
    [" app_1", "app_1", ["[ ]app_1", "app_1", ["hasForeignCharacters", true]]],
    ["APP_l", "app_1", ["[APP]_[l]", "[app]_[1]", ["differsInCase", true], ["hasLookalikes", true]]],
    ["ａpp", "app", ["[ａ]pp", "[a]pp", ["hasLookalikes", true]]],
    ["aapp", "app", ["[a]app", "app", ["slips", 1]]],
    ["", "ab", ["", "[ab]", ["slips", 2]]],
    ["ab", "", ["[ab]", "", ["slips", 2]]],
    ["abcd", "badc", ["[abcd]", "[badc]", ["slips", 2]]],
  ])("the comparison of the appids %j and %j finds the fewest differences", (input, appid, result) => {
    const [a, b, ...rest] = difference(input, appid);
    const [partsA, partsB, ...flags] = result;
    expect([String(a).replaceAll("[", "").replaceAll("]", ""), b, rest]).toEqual([input, partsB, flags]);
    expect(String(a).length).toBe(String(partsA).length);
  });
});

describe("the secrets in the signature check", () => {
  it("the signature check names another app of the site whose secret made the signature", async () => {
    const { world, visitor } = await start();
    const { appid, secret } = await issue(world);
    const body = JSON.stringify(world.createBody());
    const page = await pressCheck(visitor, { operation: "create_gd", body, signature: await hmac(secret, body) });
    const { answer, lines } = verdictOf(page.html);
    expect(answer).toBe("Sent now, the server answers 401 token验证失败!");
    expect(lines.Signature?.state).toBe("Cause");
    expect(lines.Signature?.text).toContain(`Signed with the secret of the app ${appid}.`);
    expect(lines.Signature?.text).not.toContain("Valid.");
    expect(page.link("To the app Other")).toBe(`/console/sites/${world.siteId}/apps/${appid}`);
    expect(page.html).not.toContain(secret);
  });

  it("the signature check tries the secrets of the first 50 other apps of the site, and of no other site", async () => {
    const { world, visitor } = await start();
    const issueNamed = (name: string) => issue(world, { appid: `${name}-${world.siteId}` });
    const [first, last, beyond] = [await issueNamed("a"), await issueNamed("m"), await issueNamed("z")];
    // 48 more apps are between the first and the last one that is tried.
    await env.HOME_APAC.prepare(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 48)
       INSERT INTO apps (site_id, appid, name, version, secret, created_at)
       SELECT site_id, 'k-' || i, name, version, secret, created_at FROM apps, n WHERE appid = ?`,
    )
      .bind(first.appid)
      .run();
    const foreign = await World.create({}, "apac");
    const body = JSON.stringify(world.createBody());
    const isNamed = async ({ secret }: { secret: string }) => {
      const { lines } = await checkSignature(visitor, { body, signature: await hmac(secret, body) });
      return lines.Signature?.text.includes("Signed with the secret of the app");
    };
    const results = [await isNamed(first), await isNamed(last), await isNamed(beyond), await isNamed(foreign)];
    expect(results).toEqual([true, true, false, false]);
  });

  it("the signature check names the last rotation when no known secret makes the signature", async () => {
    const { world, visitor } = await start("main");
    const body = JSON.stringify(world.createBody());
    const signature = await hmac("older", body);
    const shownText = async () => (await checkSignature(visitor, { body, signature })).lines.Signature?.text;
    expect(await shownText()).not.toContain("was rotated");
    await world.admin("POST", `/admin/apps/${world.appid}/rotate`, { overlap_seconds: 100 });
    world.clock.now += 200;
    expect(await shownText()).toMatch(/The secret was rotated on .*: the sender may still use the old one\./);
    // A change of another app is no hint.
    const { appid } = await issue(world);
    const other = JSON.stringify(world.createBody({ appid }));
    const { lines } = await checkSignature(visitor, { body: other, signature: await hmac("older", other) });
    expect(lines.Signature?.text).not.toContain("was rotated");
    // The old secret itself is recognised.
    const previous = await checkSignature(visitor, { body, signature: await hmac(world.secret, body) });
    expect(previous.lines.Signature?.text).not.toContain("may still use the old one");
  });

  it("the signature check links to the app and to its site by name", async () => {
    const { world, visitor } = await start("main");
    await world.admin("PATCH", `/admin/sites/${world.siteId}`, { name: "Shop Berlin" });
    const body = JSON.stringify(world.createBody({ timestamp: NOW }));
    const page = await pressCheck(visitor, { operation: "create_gd", body, signature: await hmac(world.secret, body) });
    expect(verdictOf(page.html).lines.App?.text).toContain("An app of the site Shop Berlin.");
    expect(page.link("To the site Shop Berlin")).toBe(`/console/sites/${world.siteId}`);
    expect(page.link(`To the app ${world.appid}`)).toBe(`/console/sites/${world.siteId}/apps/${world.appid}`);
  });
});
