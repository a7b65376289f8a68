/** The time in the pictures, in Unix seconds: 2026-11-22T14:43:00Z. */
export const SHOWN = Date.UTC(2026, 10, 22, 14, 43) / 1000;
