import { describe, expect, it } from "vitest";
import { plainEmail, readRoleList, roleOfEmail } from "../../../src/operators/access/person-role.ts";
import { isAtLeast, ROLES } from "../../../src/operators/access/role.ts";

const listsOf = (lists: { owner?: string; operator?: string; viewer?: string }) => ({
  owner: readRoleList(lists.owner).entries,
  operator: readRoleList(lists.operator).entries,
  viewer: readRoleList(lists.viewer).entries,
});

describe("a role", () => {
  it("a role may do everything that lower roles may do, and nothing of a higher role", () => {
    const table = ROLES.map((role) => ROLES.map((needed) => isAtLeast(role, needed)));
    expect([ROLES, table]).toEqual([
      ["metrics", "viewer", "operator", "owner"],
      [
        [true, false, false, false],
        [true, true, false, false],
        [true, true, true, false],
        [true, true, true, true],
      ],
    ]);
  });

  it("a person has the highest role whose list names the person", () => {
    const everywhere = listsOf({ owner: "ada@a.com", operator: "bo@a.com, ada@a.com", viewer: "*@a.com" });
    const roles = ["ada@a.com", "bo@a.com", "cy@a.com", "cy@b.com"].map((email) => roleOfEmail(everywhere, email));
    expect(roles).toEqual(["owner", "operator", "viewer", undefined]);
    const domain = listsOf({ owner: "*@a.com", viewer: "ada@a.com" });
    expect(roleOfEmail(domain, "ada@a.com")).toBe("owner");
  });

  it("an address in a role list matches in any case and with blanks around it", () => {
    const lists = listsOf({ owner: " Ada@Example.com ,,\t BO@example.COM\n," });
    for (const email of ["ada@example.com", "ADA@EXAMPLE.COM", " bo@Example.com"]) {
      expect(roleOfEmail(lists, email)).toBe("owner");
    }
  });

  it.each([
    ["of a subdomain", "ada@mail.example.com"],
    ["of a longer domain", "ada@notexample.com"],
    ["of a domain below another", "ada@example.com.evil.org"],
    ["with the domain in front", "ada@example.com@evil.org"],
    ["that is the entry itself", "*@example.com"],
    ["without a name", "@example.com"],
    ["that is no address", "example.com"],
    ["of letters that only look small", "ada@example.\u212aom"],
    ["that is empty", ""],
  ])("the entry *@example.com gives no role to an address %s", (_, email) => {
    expect(roleOfEmail(listsOf({ viewer: "*@example.com, *@example.kom" }), email)).toBeUndefined();
  });

  it("an address does not match another address that only looks the same in lower case", () => {
    expect(roleOfEmail(listsOf({ owner: "bok@example.com" }), "bo\u212a@example.com")).toBeUndefined();
    expect(plainEmail("Bo\u212a@Example.com")).toBe("bo\u212a@example.com");
  });
});

describe("a role list", () => {
  it.each([
    "*",
    "*@",
    "@example.com",
    "ada",
    "a*@example.com",
    "*@*.example.com",
    "ada@example.com bo@example.com",
    "*@*",
  ])("the entry %j of a role list counts as unusable", (entry) => {
    expect(readRoleList(`ada@example.com,${entry}`)).toEqual({ entries: ["ada@example.com"], unusable: 1 });
  });

  it("a missing or empty role list has no entries", () => {
    for (const value of [undefined, "", " , "]) expect(readRoleList(value)).toEqual({ entries: [], unusable: 0 });
  });
});
