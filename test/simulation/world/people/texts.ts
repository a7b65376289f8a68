/** What customers write: one sentence or more, in several scripts. */
export const SENTENCES = [
  "is late.",
  "is late. Please help me! It was promised for Monday.",
  "没有到。请帮我看一下。",
  "came broken 😭, and nobody answers",
  "is  not\nwhat I ordered?",
] as const;

export const ADDRESSES = ["203.0.113.7", "2001:db8::17", "198.51.100.200"] as const;
