import { describe, expect, it } from "vitest";
import {
  importKeyring,
  type SecretOwner,
  type Slot,
  seal,
  sealMark,
  UnsealError,
  unseal,
} from "../../../src/core/credentials/sealed-secret.ts";
import { systemRuntime } from "../../../src/core/runtime.ts";

const bytes = (start: number) => Uint8Array.from({ length: 32 }, (_, i) => start + i);
const OLD = bytes(0);
const NEW = bytes(100);

const OWNER = { siteId: 7, appid: "app", version: "a" };
const SECRET = "s3cret with spaces ~";

describe("a sealed secret", () => {
  it("a sealed secret opens to the same text for the same app and slot", async () => {
    const keyring = await importKeyring([OLD]);
    for (const slot of ["current", "previous"] as const) {
      const sealed = await seal(systemRuntime, keyring, OWNER, slot, SECRET);
      expect(await unseal(keyring, OWNER, slot, sealed)).toBe(SECRET);
    }
  });

  it("a sealed secret has the form v2.<key id>.<iv>.<ciphertext>, shows no clear text, and never repeats", async () => {
    const keyring = await importKeyring([OLD]);
    const [first, second] = [
      await seal(systemRuntime, keyring, OWNER, "current", SECRET),
      await seal(systemRuntime, keyring, OWNER, "current", SECRET),
    ];
    expect(first).toMatch(/^v2\.[0-9a-f]{8}\.[\w-]{16}\.[\w-]+$/);
    expect(first).not.toContain("s3cret");
    expect(first).not.toBe(second);
  });

  it("a sealed secret names its master key by the first four bytes of the key's SHA-256", async () => {
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", OLD));
    const keyring = await importKeyring([OLD]);
    const sealed = await seal(systemRuntime, keyring, OWNER, "current", SECRET);
    expect(keyring.sealing.id).toBe(digest.slice(0, 4).toHex());
    expect(sealMark(keyring)).toBe(`v2.${digest.slice(0, 4).toHex()}.`);
    expect(sealed.startsWith(sealMark(keyring))).toBe(true);
  });

  it("another implementation opens a sealed secret: AES-256-GCM with site, appid and slot as associated data", async () => {
    const sealed = await seal(systemRuntime, await importKeyring([OLD]), OWNER, "previous", SECRET);
    const [, , iv, ciphertext] = sealed.split(".");
    const read = (text = "") => Uint8Array.fromBase64(text, { alphabet: "base64url" });
    const key = await crypto.subtle.importKey("raw", OLD, "AES-GCM", false, ["decrypt"]);
    const algorithm = {
      name: "AES-GCM",
      iv: read(iv),
      additionalData: new TextEncoder().encode("v2|7|app|a|previous"),
    };
    expect(new TextDecoder().decode(await crypto.subtle.decrypt(algorithm, key, read(ciphertext)))).toBe(SECRET);
  });

  it.each<[string, SecretOwner & { appid: string }, Slot]>([
    ["another site", { ...OWNER, siteId: 8 }, "current"],
    ["another app", { ...OWNER, appid: "app2" }, "current"],
    ["another version", { ...OWNER, version: "b" }, "current"],
    ["the other slot", OWNER, "previous"],
  ])("a sealed secret does not open for %s", async (_, owner, slot) => {
    const keyring = await importKeyring([OLD]);
    const sealed = await seal(systemRuntime, keyring, OWNER, "current", SECRET);
    await expect(unseal(keyring, owner, slot, sealed)).rejects.toThrow(
      new UnsealError(
        `the ${slot} secret of app ${owner.appid} is damaged or was sealed for another site, owner or version`,
      ),
    );
  });

  it("a webhook's sealed secret does not open as an app's secret, and an app's not as a webhook's", async () => {
    const keyring = await importKeyring([OLD]);
    const { appid: _, ...owner } = OWNER;
    const webhook = { ...owner, webhookId: "app" };
    const sealed = await seal(systemRuntime, keyring, webhook, "current", SECRET);
    expect(await unseal(keyring, webhook, "current", sealed)).toBe(SECRET);
    await expect(unseal(keyring, OWNER, "current", sealed)).rejects.toThrow("the current secret of app app is damaged");
    const app = await seal(systemRuntime, keyring, OWNER, "current", SECRET);
    await expect(unseal(keyring, webhook, "current", app)).rejects.toThrow(
      "the current secret of webhook app is damaged",
    );
  });

  it("a secret that is sealed in the old form v1 does not open", async () => {
    const keyring = await importKeyring([OLD]);
    const v1 = await sealedAsV1(OLD, "app|current", SECRET);
    await expect(unseal(keyring, OWNER, "current", v1)).rejects.toThrow(/is in no known form/);
    await expect(unseal(keyring, OWNER, "current", v1.replace("v1", "v2"))).rejects.toThrow(
      /damaged or was sealed for/,
    );
  });

  it.each<[string, (parts: string[]) => string[]]>([
    ["a changed ciphertext", ([v, id, iv, text = ""]) => [v, id, iv, flip(text)] as string[]],
    ["a changed iv", ([v, id, iv = "", text]) => [v, id, flip(iv), text] as string[]],
    ["a cut ciphertext", ([v, id, iv, text = ""]) => [v, id, iv, text.slice(0, -4)] as string[]],
    ["an empty ciphertext", ([v, id, iv]) => [v, id, iv, ""] as string[]],
    ["an empty iv", ([v, id, , text]) => [v, id, "", text] as string[]],
    ["what is not base64", ([v, id, iv]) => [v, id, iv, "?!"] as string[]],
  ])("a sealed secret does not open with %s", async (_, damage) => {
    const keyring = await importKeyring([OLD]);
    const sealed = await seal(systemRuntime, keyring, OWNER, "current", SECRET);
    const damaged = damage(sealed.split(".")).join(".");
    expect(damaged).not.toBe(sealed);
    await expect(unseal(keyring, OWNER, "current", damaged)).rejects.toThrow(
      new UnsealError("the current secret of app app is damaged or was sealed for another site, owner or version"),
    );
  });

  it.each([[""], ["s3cret"], ["v1"], ["v1.00000000"], ["v1.00000000.iv"], ["v2.00000000.iv"], ["v3.00000000.iv.text"]])(
    "a sealed secret does not open in another form: %j",
    async (text) => {
      await expect(unseal(await importKeyring([OLD]), OWNER, "current", text)).rejects.toThrow(
        new UnsealError("the current secret of app app is in no known form"),
      );
    },
  );

  it("a sealed secret does not open without its master key, and the error names that key", async () => {
    const [old, other] = [await importKeyring([OLD]), await importKeyring([NEW])];
    const sealed = await seal(systemRuntime, old, OWNER, "current", SECRET);
    await expect(unseal(other, OWNER, "current", sealed)).rejects.toThrow(
      new UnsealError(
        `the current secret of app app was sealed with master key ${old.sealing.id}; MASTER_KEY is ${other.sealing.id}`,
      ),
    );
  });
});

describe("a keyring", () => {
  it("a keyring seals with its first key and opens with all keys", async () => {
    const [old, both, only] = [await importKeyring([OLD]), await importKeyring([NEW, OLD]), await importKeyring([NEW])];
    const before = await seal(systemRuntime, old, OWNER, "current", SECRET);
    const after = await seal(systemRuntime, both, OWNER, "current", SECRET);
    expect(await unseal(both, OWNER, "current", before)).toBe(SECRET);
    expect(await unseal(both, OWNER, "current", after)).toBe(SECRET);
    expect(await unseal(only, OWNER, "current", after)).toBe(SECRET);
    await expect(unseal(old, OWNER, "current", after)).rejects.toThrow(UnsealError);
  });

  it("a keyring may hold one key twice", async () => {
    const keyring = await importKeyring([OLD, OLD]);
    expect(await unseal(keyring, OWNER, "current", await seal(systemRuntime, keyring, OWNER, "current", SECRET))).toBe(
      SECRET,
    );
  });
});

/** Changes a character of base64url in the middle, where every bit counts. */
function flip(text: string): string {
  const at = text.length >> 1;
  return text.slice(0, at) + (text[at] === "A" ? "B" : "A") + text.slice(at + 1);
}

/** Seals a secret as older versions of the service did, without the code under test. `associated` is the seal's associated data. */
async function sealedAsV1(masterKey: Uint8Array<ArrayBuffer>, associated: string, secret: string): Promise<string> {
  const encoder = new TextEncoder();
  const base64url = (bytes: Uint8Array) => bytes.toBase64({ alphabet: "base64url", omitPadding: true });
  const id = new Uint8Array(await crypto.subtle.digest("SHA-256", masterKey)).slice(0, 4).toHex();
  const key = await crypto.subtle.importKey("raw", masterKey, "AES-GCM", false, ["encrypt"]);
  const iv = crypto.getRandomValues(new Uint8Array(12));
  const algorithm = { name: "AES-GCM", iv, additionalData: encoder.encode(associated) };
  const ciphertext = await crypto.subtle.encrypt(algorithm, key, encoder.encode(secret));
  return ["v1", id, base64url(iv), base64url(new Uint8Array(ciphertext))].join(".");
}
