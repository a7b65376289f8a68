import { showUnseen } from "../parts/unseen.tsx";

export const ShownSbs = ({ sbs }: { sbs: string }) => <bdi class="long">{showUnseen(sbs)}</bdi>;
