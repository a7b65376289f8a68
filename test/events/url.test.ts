import { describe, expect, it } from "vitest";
import { webhookUrlMistake } from "../../src/events/url.ts";

const fault = (url: string) => webhookUrlMistake(url, { loopback: false });

const HTTPS = "must be an absolute https URL";
const PUBLIC = "must have a public host name";
const HOST = "must name a host, not an IP address";

describe("a webhook's URL", () => {
  it.each([
    "https://example.com",
    "https://hooks.example.com/a/b?token=c&d",
    "https://EXAMPLE.com:443/",
    "https://example.com.",
    "https://例え.テスト/",
    "https://localhost.example.com/",
    "https://127.0.0.1.example.com/",
    "https://arpa.example.com/",
    "https://svc.example.com/",
    "https://asvc.com/",
    "https://my-consul.io/",
    "https://consul.io/",
    "https://asphalt.com/",
    `https://example.com/${"a".repeat(2_048 - "https://example.com/".length)}`,
  ])("a webhook's URL may be %s", (url) => {
    expect(fault(url)).toBeUndefined();
  });

  it.each([
    ["", HTTPS],
    ["example.com", HTTPS],
    ["//example.com/", HTTPS],
    ["http://example.com/", HTTPS],
    ["http://localhost:8080/", HTTPS],
    ["ftp://example.com/", HTTPS],
    ["javascript:alert(1)", HTTPS],
    ["https://", HTTPS],
    [" https://example.com/", HTTPS],
    ["https://example.com/\n", HTTPS],
    ["https://exa\tmple.com/", HTTPS],
    ["https://example.com/a b", HTTPS],
    ["https://1.2.3.256/", HTTPS],
    ["https://user@example.com/", "must hold no user and no password"],
    ["https://:password@example.com/", "must hold no user and no password"],
    ["https://example.com/#part", "must have no fragment"],
    ["https://example.com/#", "must have no fragment"],
    ["https://example.com:8443/", "must use port 443"],
    ["https://example.com:80/", "must use port 443"],
    [`https://example.com/${"a".repeat(2_049 - "https://example.com/".length)}`, "must have at most 2048 characters"],
  ])("a webhook's URL may not be %j: it %s", (url, rule) => {
    expect(fault(url)).toBe(rule);
  });

  it.each([
    "localhost",
    "LOCALHOST.",
    "a.localhost",
    "%6cocalhost",
    "printer.local",
    "metadata.google.internal",
    "router.home.arpa",
    "ROUTER.Home.Arpa.",
    "home.arpa",
    "1.0.0.127.in-addr.arpa",
    "payments.default.svc",
    "payments.default.SVC.",
    "payments.default.svc.cluster.local",
    "Payments.Default.Svc.Cluster.Local.",
    "web.service.consul",
    "web.service.dc1.consul.",
    "a.alt",
    "A.ALT.",
    "INTRANET.",
    "com.",
    "%61.svc",
    "ａ.ａｌｔ",
    "a.test",
    "a.invalid",
    "a.example",
    "intranet",
    "a..example.com",
    "example.com..",
  ])("a webhook's URL may not have the host %s", (host) => {
    expect(fault(`https://${host}/`)).toBe(PUBLIC);
  });

  it.each([
    "127.0.0.1",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "8.8.8.8",
    "8.8.8.8.",
    "１２７.0.0.1",
    "169.254.169.254",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[2606:4700:4700::1111]",
  ])("a webhook's URL may not have the address %s", (address) => {
    expect(fault(`https://${address}/`)).toBe(HOST);
  });
});

describe("with loopback allowed, a webhook's URL", () => {
  const here = (url: string) => webhookUrlMistake(url, { loopback: true });

  it.each([
    "http://localhost:8080/a",
    "http://127.0.0.1:1/",
    "http://127.9.8.7/",
    "http://[::1]:3000/",
    "https://127.1:8443/",
  ])("a webhook's URL may be %s when loopback is allowed", (url) => {
    expect(here(url)).toBeUndefined();
  });

  it.each([
    ["http://example.com/", HTTPS],
    ["https://example.com:8443/", "must use port 443"],
    ["http://10.0.0.1/", HTTPS],
    ["https://10.0.0.1/", HOST],
    ["http://a.localhost/", HTTPS],
    ["ftp://localhost/", HTTPS],
    ["http://user@localhost/", "must hold no user and no password"],
    ["http://localhost/#a", "must have no fragment"],
  ])("a webhook's URL may not be %s even when loopback is allowed: it %s", (url, rule) => {
    expect(here(url)).toBe(rule);
  });
});
