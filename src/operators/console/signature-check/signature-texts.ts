import { checkTimestamp, type SignatureDiagnosis, sentenceOf } from "../../services/check-pasted-request.ts";
import type { View } from "../view.ts";

export { lineEndsOf } from "../../services/check-pasted-request.ts";

/** Why a timestamp is outside the tolerance, and the advice. */
export const timestampText = (view: View, timestamp: number, tolerance: number): string =>
  sentenceOf(view, checkTimestamp(timestamp, view.now, tolerance));

/** The findings about a signature, in sentences. */
export const signatureTexts = (view: View, { findings }: SignatureDiagnosis): string[] =>
  findings.map((finding) => sentenceOf(view, finding));
