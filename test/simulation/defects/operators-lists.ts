import type { Defect } from "./defect.ts";

/** Defects of the lists that operators read. */
export const LIST_DEFECTS: Defect[] = [
  {
    name: "sessions-of-all-sites",
    what: "A session's participants are those of all sites.",
    edits: [
      {
        file: "src/store/home/sessions.ts",
        find: ".where(and(eq(participants.siteId, siteId), eq(participants.sessionId, id)))",
        replace: ".where(eq(participants.sessionId, id))",
      },
    ],
  },
  {
    name: "list-without-customer",
    what: "The list of sessions ignores the customer that was asked for.",
    edits: [
      {
        file: "src/store/home/sessions.ts",
        find: "customerExternalId === undefined ? undefined : eq(sessions.customerExternalId, customerExternalId),",
        replace: "",
      },
    ],
  },
  {
    name: "list-skips-one",
    what: "The cursor of a page is one entry too far, so the next page lacks an entry.",
    edits: [{ file: "src/services/page.ts", find: "const last = items.at(-1);", replace: "const last = rows.at(-1);" }],
  },
];
