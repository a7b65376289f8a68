import { createHmac } from "node:crypto";

/** The app that every compared Worker has, in the home `main`. */
export const APP = {
  appid: "benchbenchbenchbenchbenchbench01",
  secret: "bench-secret-0123456789abcdef0123456789abcdef",
  siteId: 1,
  version: "00000000000000000000000000000001",
} as const;

/** The appid of a site's app. Each site has one app. All apps have the secret of {@link APP}, the app of site 1. */
export const appidOf = (siteId: number): string => `benchbenchbenchbenchbenchbench${String(siteId).padStart(2, "0")}`;

export const AGENTS = [10411, 10427, 10428, 10429, 10430, 10431, 10432, 10433] as const;

export type Fields = Record<string, unknown>;

/** Fields of a create_gd request that is accepted. */
export function createFields(change: Fields = {}): Fields {
  return {
    ...stamp(),
    sbs: "customer_001",
    ip: "203.0.113.7",
    sbs_mc: "Customer Name",
    content: "The parcel has not arrived. It was to be here on Monday, and nobody answers the phone.",
    title: "Order Consultation",
    kefu_id: AGENTS.slice(0, 2),
    fzr_uid: AGENTS[0],
    ...change,
  };
}

export function signed(fields: Fields): { body: string; signature: string } {
  const body = JSON.stringify(fields);
  return { body, signature: createHmac("sha256", APP.secret).update(body).digest("hex") };
}

const stamp = () => ({ appid: APP.appid, timestamp: Math.floor(Date.now() / 1000), ranstr: crypto.randomUUID() });
