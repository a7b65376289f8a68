import { d1Cases } from "./d1.ts";
import { randomCases } from "./d1-random.ts";
import { kvCases } from "./kv.ts";
import { queueCases } from "./queue.ts";
import { rateLimitCases } from "./rate-limit.ts";
import { serviceCases } from "./service.ts";
import { subtleCases } from "./subtle.ts";

/** The lists of cases, each for one kind of platform. */
export const LISTS = {
  d1: { ...d1Cases, ...randomCases },
  service: serviceCases,
  kv: kvCases,
  queue: queueCases,
  rateLimit: rateLimitCases,
  subtle: subtleCases,
};

export type ListName = keyof typeof LISTS;
