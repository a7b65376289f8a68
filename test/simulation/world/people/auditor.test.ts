import { expect, it } from "vitest";
import { adminPaths } from "../../../../src/openapi/admin-paths.ts";
import { PAGED, READS } from "./auditor.ts";

it("reads through every GET of the admin API that is documented", () => {
  const documented = Object.entries(adminPaths).filter(([, path]) => "get" in path);
  expect([...Object.keys(READS), ...PAGED].sort()).toEqual(documented.map(([name]) => name).sort());
});
