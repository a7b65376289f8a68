import type { AdminCallId } from "../../operators/admin/calls.ts";
import type { CallWords } from "./admin-call.ts";

/** The words for the calls about one customer's data, by operationId. */
export const customerWords = {
  exportCustomer: {
    summary: "Hand over everything stored about a customer",
    description:
      "The customer, their sessions with all that was said, and the events of these sessions that are kept, 50 sessions at a time, the oldest first. The body names the customer, because paths reach logs.",
    body: "CustomerExport",
    answer: { status: 200, schema: "ExportedCustomer" },
    description200: "A page of what is stored.",
  },
  eraseCustomer: {
    summary: "Erase a customer",
    description: [
      "Erases the customer's sessions up to the site's highest id at the first call that erases, with messages, participants and the data of their events, and the customer once no session is left. Bounded steps: send the same call again until `remaining` is 0. A customer who was erased is 200, with nothing erased; one who is unknown and never was erased is 404.",
      "",
      "Not erased: what D1's Time Travel keeps until `time_travel_until`, what receivers have got (`webhooks`), Idempotency-Keys until `idempotency_keys_until`, and the caller's own data.",
    ].join("\n"),
    body: "CustomerErasure",
    answer: { status: 200, schema: "ErasedCustomer" },
    description200: "What this call has erased, and what is left.",
  },
} satisfies Partial<Record<AdminCallId, CallWords>>;
