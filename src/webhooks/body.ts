/**
 * The body that is posted: the same bytes at every attempt.
 *
 * @param at   Unix seconds of the event
 * @param data the event's JSON, as it was frozen
 */
export const webhookBody = ({ type, at, data }: { type: string; at: number; data: string }): string =>
  `{"type":${JSON.stringify(type)},"timestamp":"${new Date(at * 1000).toISOString()}","data":${data}}`;
