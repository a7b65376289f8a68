import type { ConsoleCall } from "../env.ts";
import { form, page } from "../page-call.ts";
import { postSignatureCheck, signatureCheckPage } from "./signature-check-page.tsx";

export const SIGNATURE_CHECK_CALLS: ConsoleCall[] = [
  page("viewer", "/signature-check", signatureCheckPage),
  form("viewer", "/signature-check", "It only reads.", postSignatureCheck),
];
