import { type Defect, LONGER } from "./defect.ts";

/** Defects of re-sealing secrets. */
export const SEAL_DEFECTS: Defect[] = [
  {
    name: "reseal-undoes-rotation",
    steps: LONGER,
    what: "Re-sealing brings back the secret from before a rotation.",
    edits: [
      {
        file: "src/store/home/seals.ts",
        find: ".where(and(eq(table.siteId, part(0)), eq(name, part(1)), unchanged))",
        replace: ".where(and(eq(table.siteId, part(0)), eq(name, part(1))))",
      },
    ],
  },
  {
    name: "reseal-forgets-previous",
    what: "The previous secret is not counted as sealed with the older key.",
    edits: [
      {
        file: "src/store/home/seals.ts",
        find: "sql<number>`${count(apps.secret)} + ${count(apps.previousSecret)} + ${ofWebhooks}`",
        replace: "sql<number>`${count(apps.secret)}`",
      },
      {
        file: "src/store/home/seals.ts",
        find: "or(differs(secret, mark), differs(previousSecret, mark)),",
        replace: "differs(secret, mark),",
      },
      {
        file: "src/services/reseal-secrets.ts",
        find: "if (previousVersion !== null && previousSecret !== null) {",
        replace: "if (previousVersion === '' && previousSecret !== null) {",
      },
    ],
  },
  {
    name: "reseal-closed-home",
    what: "A closed home is re-sealed.",
    edits: [
      {
        file: "src/services/reseal-secrets.ts",
        find: "const open = [...homes].filter(([home]) => !closedHomes.has(home));",
        replace: "const open = [...homes];",
      },
    ],
  },
  {
    name: "reseal-one-home-done",
    steps: LONGER,
    what: "Re-sealing stops after the first home, and reports nothing as remaining.",
    edits: [
      { file: "src/services/reseal-secrets.ts", find: "left -= answer.done;", replace: "left = 0;" },
      { file: "src/services/reseal-secrets.ts", find: "      remaining += due;", replace: "      remaining += 0;" },
    ],
  },
];
