import { visibleSbs } from "../sessions/session-table.tsx";

/** An id that holds a control character, such as a line end. An input cannot hold it, and a reader does not see it. */
export const hasControls = (sbs: string): boolean => /\p{Cc}/u.test(sbs);

/** The id of a customer as its reader sees it. */
export const shownSbs = (sbs: string): string => (hasControls(sbs) ? JSON.stringify(sbs) : visibleSbs(sbs));

export const ShownSbs = ({ sbs }: { sbs: string }) => <bdi class="long">{shownSbs(sbs)}</bdi>;
