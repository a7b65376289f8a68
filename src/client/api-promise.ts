import type { WireAnswer } from "./read-answer.ts";

/** What a call gives, and the answer that it was read from. */
export interface WithResponse<Data> {
  data: Data;
  /** Of the last try: its status, its headers, its envelope. */
  response: WireAnswer;
}

/** A promise of what a call gives. `withResponse()` gives the answer of the service too; it makes no further call. */
export interface ApiPromise<Data> extends Promise<Data> {
  withResponse(): Promise<WithResponse<Data>>;
}

export function apiPromise<Data>(whole: Promise<WithResponse<Data>>): ApiPromise<Data> {
  const data = whole.then((each) => each.data);
  const withResponse = () => {
    // Who waits for the whole hears of its failure there, and need not wait for `data` too.
    data.catch(() => {});
    return whole;
  };
  return Object.assign(data, { withResponse });
}
