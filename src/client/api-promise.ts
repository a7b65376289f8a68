import type { WireAnswer } from "./read-answer.ts";

/** The result of a call, and the answer that contained it. */
export interface WithResponse<Data> {
  data: Data;
  /** The answer to the last try: status, headers and envelope. */
  response: WireAnswer;
}

/** A promise of a call's result. `withResponse()` also gives the service's answer, without a second call. */
export interface ApiPromise<Data> extends Promise<Data> {
  withResponse(): Promise<WithResponse<Data>>;
}

export function apiPromise<Data>(whole: Promise<WithResponse<Data>>): ApiPromise<Data> {
  const data = whole.then((each) => each.data);
  const withResponse = () => {
    // A caller of withResponse() gets the failure from its promise. Without this line, `data` would be an unhandled rejection.
    data.catch(() => {});
    return whole;
  };
  return Object.assign(data, { withResponse });
}
