import * as z from "zod/mini";
import { rule, text } from "../fields.ts";

const TIMESTAMP_RULE = rule("must be an integer, Unix seconds");

/** The fields every signed request carries to be fresh and used once. Contract section 4; limits of ranstr: README, "Decisions". */
export const requestStampSchema = z.object({
  timestamp: z.int(TIMESTAMP_RULE),
  ranstr: text(1, 128),
});

export type RequestStamp = z.infer<typeof requestStampSchema>;
