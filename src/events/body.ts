/**
 * The body of a post. It has the same bytes at every attempt.
 *
 * @param at   the event's time in Unix seconds
 * @param data the event's JSON as stored
 */
export const webhookBody = ({ type, at, data }: { type: string; at: number; data: string }): string =>
  `{"type":${JSON.stringify(type)},"timestamp":"${new Date(at * 1000).toISOString()}","data":${data}}`;
