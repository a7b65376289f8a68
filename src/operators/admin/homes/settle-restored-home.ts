import * as z from "zod/mini";
import { reconcileHome, reconcileSchema } from "../../services/homes.ts";
import { adminCall } from "../admin-call.ts";
import { personSchema } from "../people/person.ts";
import { tokenSchema, tokenWords } from "../tokens/token.ts";
import { type CallDocumentation, count, homesDown, time } from "../words.ts";
import { homeOf } from "./home-of.ts";

export default adminCall(
  {
    id: "settleRestoredHome",
    method: "post",
    path: "/homes/:name/restored",
    role: "owner",
    scope: "deployment",
    audit: ["home.restored", "customer.erased", "site.deletion_begun"],
    body: reconcileSchema,
    bodyOptional: true,
    response: z.object({
      settling_id: z.string(),
      sites: z.int(),
      lifted_by: z.int(),
      erased_again: z.int(),
      erasures_left: z.int(),
      sites_deleted_again: z.int(),
      reopen_after: z.int(),
      homes_down: z.array(z.string()),
      tokens: z.array(tokenSchema),
      people: z.array(personSchema),
    }),
  },
  async (c, { body: { settling_id: reconciliationId, lift: skip, force, receipts, deletions } }) => {
    const input = { home: homeOf(c), reconciliationId, skip, force, receipts, deletions };
    const settled = await reconcileHome(c.var.ctx, input);
    return {
      ...settled,
      settlingId: settled.reconciliationId,
      liftedBy: settled.skippedBy,
      erasedAgain: settled.erasures.done,
      erasuresLeft: settled.erasures.left,
    };
  },
);

export const documentation = (): CallDocumentation => {
  const { id, name, role, site_id, created_at } = tokenWords();
  return {
    summary: "Make a home fit for use after D1 Time Travel",
    chinese: "用 D1 Time Travel 恢复后，使数据库（home）可以重新使用",
    description:
      "Call it once a closed home was restored, before it is opened. It gives the home the sites that it lost, and lifts the chat ids and the event counts of every site. Of `main`, it also gives the directory the sites and apps of the other homes. The same `settling_id` again lifts nothing more and goes on where the call before stopped; without one, each call lifts. The body may be left out. 409 for a home that is open, unless `force` is true, and for a `settling_id` of long ago.",
    body: {
      name: "Restored",
      fields: {
        lift: {
          description:
            "How many chat ids each site skips: more than any site can have given since the time that the home was restored to.",
          examples: [1000000],
        },
        settling_id: {
          description:
            "An id of your own: a new one for each restore, the same for each try to settle it. A random one is made without it.",
          minLength: 1,
          maxLength: 64,
          examples: ["restore-2026-11-22"],
        },
        force: {
          description:
            "Settles an open home too. Sessions that it opens before that may get ids that were given before.",
          examples: [false],
        },
        receipts: {
          description:
            "Where no KV is bound: the `receipts` that erasures of customers answered with in the last 31 days, so that nobody comes back.",
          examples: [[]],
        },
        deletions: {
          description:
            "Where no KV is bound: the `deletions` that deletions of sites answered with in the last 31 days, so that no site comes back.",
          examples: [[]],
        },
      },
    },
    response: {
      name: "RestoredHome",
      fields: {
        settling_id: {
          description: "The id of this settling: send it along when this call has to be sent again.",
          pattern: "^[A-Za-z0-9_-]{1,64}$",
          examples: ["restore-2026-11-22"],
        },
        sites: count("How many sites the home has.", 12),
        lifted_by: count(
          "How many chat ids this call made each of them skip; 0 when this settling had lifted them before.",
          1000000,
        ),
        erased_again: count("How many erasures of customers this call carried out again."),
        erasures_left: count(
          "Erasures that are still to be carried out again, and deleted sites that are back and cannot be checked. Keep the home closed and send this again, with the `settling_id`, until it is 0.",
        ),
        sites_deleted_again: count(
          "How many sites that were deleted the home had again. Their data goes once it is open.",
        ),
        reopen_after: time("By then every `ranstr` that was used before has expired. Open the home after it."),
        homes_down: {
          ...homesDown(),
          description:
            "Only for `main`: homes that were not reached. Their sites and apps are not back: send this again, with the `settling_id`, before `main` is opened.",
        },
        tokens: {
          description:
            "Only for `main`: the tokens that it has now and that have not expired, owners first, a thousand at most. Delete those again that were deleted since the restored time.",
        },
        people: {
          description:
            "Only for `main`: the people who may come into the console now, owners first, a thousand at most. End those again whose access was ended since the restored time.",
        },
      },
    },
    parts: [{ name: "RestoredToken", schema: tokenSchema, fields: { id, name, role, site_id, created_at } }],
    refusals: [404, 409],
    answered: "The home is fit for use from `reopen_after` on.",
  };
};
