import { bindingOfHome } from "../../src/homes.ts";
import type { Trips } from "./observed-bindings.ts";

/** D1's location hints. */
export const REGIONS = ["weur", "eeur", "apac", "oc", "wnam", "enam"] as const;
export type Region = (typeof REGIONS)[number];

/** The region of `main`, which is the directory and the only home in a setup with one home. */
export const MAIN_REGION: Region = "enam";

/**
 * The city of a region's home, and the city of its callers. They differ, because callers do not live in the data
 * centre.
 */
export const CITIES: Record<Region, { home: string; callers: string }> = {
  weur: { home: "Amsterdam", callers: "London" },
  eeur: { home: "Warsaw", callers: "Vienna" },
  apac: { home: "Tokyo", callers: "Seoul" },
  oc: { home: "Sydney", callers: "Melbourne" },
  wnam: { home: "California", callers: "Washington" },
  enam: { home: "Virginia", callers: "Toronto" },
};

/**
 * Round trips in milliseconds from the callers of a region to each home, in the order of {@link REGIONS}. They are
 * medians (P50) of the 30 days that ended on 30 July 2026, as Microsoft publishes them for the Azure regions of these
 * cities (https://learn.microsoft.com/en-us/azure/networking/azure-network-latency, `UK South` to `West Europe`, and so
 * on).
 */
const TRIPS_MS: Record<Region, readonly number[]> = {
  weur: [11, 29, 229, 261, 140, 78],
  eeur: [22, 16, 245, 261, 164, 104],
  apac: [241, 252, 30, 126, 130, 185],
  oc: [263, 277, 114, 15, 150, 213],
  wnam: [142, 160, 101, 160, 24, 73],
  enam: [90, 108, 160, 202, 69, 18],
};

export const tripMs = (callers: Region, home: Region): number => TRIPS_MS[callers][REGIONS.indexOf(home)] ?? Number.NaN;

/** All homes except `main`. */
export const FURTHER_HOMES = REGIONS.filter((region) => region !== MAIN_REGION);

export const siteIn = (region: Region): number => (region === MAIN_REGION ? 1 : FURTHER_HOMES.indexOf(region) + 2);

/** The trips from the callers of a region to all databases. */
export function tripsOf(callers: Region): Pick<Trips, "d1By"> {
  const binding = (home: Region) => (home === MAIN_REGION ? "DB" : bindingOfHome(home));
  return { d1By: Object.fromEntries(REGIONS.map((home) => [binding(home), tripMs(callers, home)])) };
}
