import { Time } from "../parts/parts.tsx";
import type { View } from "../view.ts";

/**
 * What erasing a customer does not reach.
 *
 * @param props `until`: for a completed erasure, when Time Travel and the Idempotency-Keys no longer have the data
 */
export function WhatStays({ view, until }: { view: View; until?: { timeTravel: number; keys: number } | undefined }) {
  const { t } = view;
  return (
    <section class="card">
      <h2>{t("What erasing does not reach")}</h2>
      <ul class="stays">
        <li>
          {t("D1's Time Travel: for 30 days it can bring back the database as it was.")}
          {until && (
            <>
              {" "}
              {t("Until:")} <Time at={until.timeTravel} />
            </>
          )}
        </li>
        <li>
          {t("Idempotency-Keys of the customer's calls, for up to 24 hours: the key, and a fingerprint of the call.")}
          {until && (
            <>
              {" "}
              {t("Until:")} <Time at={until.keys} />
            </>
          )}
        </li>
        <li>{t("Free pages of the database file: the platform writes over them when it needs them.")}</li>
        <li>
          {t(
            "What receivers of webhooks have stored. Those that take session.erased are told which chat_ids are gone.",
          )}
        </li>
        <li>
          {t(
            "The data of the systems that opened the sessions, files that were handed over, and copies of the database.",
          )}
        </li>
        <li>
          {t("The audit log: when and by whom somebody was erased. In place of the customer's id it has a hash.")}
        </li>
      </ul>
    </section>
  );
}
