/**
  * Cloudflare's list prices on Workers Paid, in dollars per million beyond what a month includes. They are from 22 November 2026:

 * https://developers.cloudflare.com/workers/platform/pricing/, /d1/platform/pricing/, /kv/platform/pricing/ and /queues/platform/pricing/.
 */
export const PRICES = {
  requests: { name: "requests", perMillion: 0.3, included: 10e6 },
  cpuMs: { name: "ms of CPU", perMillion: 0.02, included: 30e6 },
  rowsWritten: { name: "D1 rows written", perMillion: 1, included: 50e6 },
  rowsRead: { name: "D1 rows read", perMillion: 0.001, included: 25e9 },
  kvReads: { name: "KV reads", perMillion: 0.5, included: 10e6 },
  kvWrites: { name: "KV writes", perMillion: 5, included: 1e6 },
} as const;

export type UsedAmounts = Record<keyof typeof PRICES, number>;

export const KINDS = Object.keys(PRICES) as (keyof typeof PRICES)[];

/** The price of a million queue operations. A message takes three: write, read and delete. */
export const QUEUE_OPERATIONS_PER_MILLION = 0.4;
export const OPERATIONS_A_MESSAGE = 3;
export const DOLLARS_PER_MILLION_LINES = 0.6;

/** The price of the Workers Paid subscription. */
const DOLLARS_A_MONTH = 5;
/** The price of a GB of D1 per month, beyond the included ones. */
export const DOLLARS_PER_GB = 0.75;
export const INCLUDED_GB = 5;
/** The price of a D1 database per month, beyond the included ones of an account, from 27 November 2026. */
export const DOLLARS_PER_DATABASE = 0.1;
export const INCLUDED_DATABASES = 100_000;

/** The numbers of creates per second for which a month is priced. */
export const RATES = [1, 100, 10_000];
const SECONDS_A_MONTH = 30 * 86_400;

/** The price of a million requests with this usage. The included amounts are not subtracted. */
export const dollarsPerMillion = (used: Partial<UsedAmounts>): number =>
  KINDS.reduce((sum, kind) => sum + (used[kind] ?? 0) * PRICES[kind].perMillion, 0);

/** The price of a month of 30 days, split by kind of usage, for `perSecond` requests per second that each use `used`. */
export function dollarsAMonth(used: UsedAmounts, perSecond: number): UsedAmounts & { subscription: number } {
  const requests = perSecond * SECONDS_A_MONTH;
  const bill = KINDS.map((kind) => {
    const { perMillion, included } = PRICES[kind];
    return [kind, (Math.max(0, used[kind] * requests - included) / 1e6) * perMillion] as const;
  });
  return { ...(Object.fromEntries(bill) as UsedAmounts), subscription: DOLLARS_A_MONTH };
}
