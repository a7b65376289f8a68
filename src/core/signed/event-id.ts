import type { Runtime } from "../runtime.ts";

/** A new event's id: `evt_` and 32 random hex digits. Receivers recognise a repeated event by it. */
export const newEventId = (runtime: Pick<Runtime, "bytes">): string => `evt_${runtime.bytes(16).toHex()}`;
