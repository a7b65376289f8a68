import * as z from "zod/mini";
import { addPerson, newPersonSchema } from "../../services/people.ts";
import { TOKEN_NAME_RULE } from "../../services/token-names.ts";
import { adminCall } from "../admin-call.ts";
import { type CallDocumentation, newName } from "../words.ts";
import { personSchema, personWords } from "./person.ts";

export default adminCall(
  {
    id: "addPerson",
    method: "post",
    path: "/people",
    role: "owner",
    scope: "deployment",
    audit: ["person.added"],
    body: newPersonSchema,
    status: 201,
    response: z.extend(personSchema, { token: z.optional(z.string()) }),
  },
  (c, { body: { site_id: siteId, expires_in_days: expiresInDays, ...rest } }) =>
    addPerson(c.var.ctx, { ...rest, siteId, expiresInDays }),
);

export const documentation = (): CallDocumentation => {
  const name = newName("What the person is called", "Mei");
  return {
    summary: "Let somebody into the console",
    chinese: "让一个人进入控制台",
    description:
      "Either by `email`, for people who come by Cloudflare Access, or by `name`: then the answer has a token with which they sign in at the console, and only its hash is stored. When the answer was lost, look at the list. An address is in it once. Whoever is in it by a name, and did not get the token, is ended and added again. 400 for both and for neither, for a way that CONSOLE_SIGN_IN does not have, and for a `site_id` with the role `owner`. 409 for an address that has a row already, also an expired one.",
    body: {
      name: "NewPerson",
      fields: {
        email: {
          description: "The address that Cloudflare Access confirms. Refused where CONSOLE_SIGN_IN is `token`.",
          examples: ["ada@example.com"],
        },
        name: {
          ...name,
          description: `${name.description} The audit log names others so: it ${TOKEN_NAME_RULE}. Refused where CONSOLE_SIGN_IN is \`access\`.`,
        },
        role: {
          description:
            "What they may do: each role may do what those before it may. Somebody of one site is `viewer` or `operator`.",
          examples: ["viewer"],
        },
        site_id: { description: "The one site that they see. Leave it out for all sites.", examples: [1] },
        expires_in_days: { description: "Leave it out for access that does not end by itself.", examples: [90] },
      },
    },
    response: {
      name: "AddedPerson",
      fields: {
        ...personWords(),
        token: {
          description: "The token of somebody with a name. Shown in this answer and never again.",
          examples: ["asp_0Eoh211G4c8wtVWM00my5rsNSFlKgaWqQ4mb8gdEqno0DJmyq"],
          pattern: "^asp_[0-9A-Za-z]{49}$",
        },
      },
    },
    refusals: [409],
    answered: "They may come in. A token is shown here only.",
  };
};
