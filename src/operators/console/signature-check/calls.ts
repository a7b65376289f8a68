import { call } from "../../http/call.ts";
import type { ConsoleCall } from "../env.ts";
import { postSignatureCheck, signatureCheckPage } from "./signature-check-page.tsx";

const EVERY_VIEWER = { role: "viewer", scope: "deployment" } as const;

export const SIGNATURE_CHECK_CALLS: ConsoleCall[] = [
  call({ ...EVERY_VIEWER, method: "get", path: "/signature-check", audit: [] }, signatureCheckPage),
  call(
    { ...EVERY_VIEWER, method: "post", path: "/signature-check", audit: [], changesNothing: "It only reads." },
    postSignatureCheck,
  ),
];
