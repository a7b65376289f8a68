import type { HomeFill } from "../../services/home-fill.ts";
import { Badge } from "../parts/parts.tsx";
import type { View } from "../view.ts";

const DAY = 86_400;

/** A home that is full later than this needs no date, because nobody plans so far ahead. */
const FAR_SECONDS = 3 * 365 * DAY;

const GIGABYTE = 1e9;
const MEGABYTE = 1e6;

/** A size or a growth in words: `8.1 GB`, `12 MB`. */
function sizeText(view: View, bytes: number): string {
  const [unit, bytesPerUnit] = Math.abs(bytes) >= GIGABYTE ? ["GB", GIGABYTE] : ["MB", MEGABYTE];
  const number = new Intl.NumberFormat(view.language, {
    maximumFractionDigits: Math.abs(bytes) < 10 * bytesPerUnit ? 1 : 0,
  });
  return `${number.format(bytes / bytesPerUnit)} ${unit}`;
}

const dateText = (view: View, at: number): string =>
  new Intl.DateTimeFormat(view.language === "zh" ? "zh-CN" : "en-GB", {
    timeZone: view.timeZone,
    dateStyle: "medium",
  }).format(at * 1000);

/** The size of a home, and its share of the size that a home can have. */
export function SizeCell({ view, fill }: { view: View; fill: HomeFill | undefined }) {
  const { t } = view;
  if (fill === undefined || fill.bytes === null) return <>{t("Not known")}</>;
  const { bytes, limit } = fill;
  const share = new Intl.NumberFormat(view.language, { style: "percent", maximumFractionDigits: 0 }).format(
    bytes / limit,
  );
  return (
    <span class="fill">
      <meter min={0} max={limit} high={0.7 * limit} optimum={0} value={bytes} aria-label={t("How full it is")}>
        {share}
      </meter>
      {t("{0} of {1} ({2})", sizeText(view, bytes), sizeText(view, limit), share)}
    </span>
  );
}

/** How fast a home grows, and since when the growth is measured. */
export function GrowthCell({ view, fill }: { view: View; fill: HomeFill | undefined }) {
  const { t } = view;
  if (fill === undefined || fill.growth === null || fill.since === null) return <>{t("Not known")}</>;
  const { growth, from, since } = fill;
  const date = dateText(view, since);
  return (
    <span class="pair">
      {growth > 0 ? t("{0} a day", sizeText(view, growth)) : t("Does not grow")}
      <small>{from === "sizes" ? t("measured since {0}", date) : t("on average since {0}", date)}</small>
    </span>
  );
}

export function FullCell({ view, fill }: { view: View; fill: HomeFill | undefined }) {
  const { t } = view;
  if (fill === undefined || fill.growth === null) return <>{t("Not known")}</>;
  const { fullAt, isFilling } = fill;
  if (fullAt === null) return <>{t("Never, at this rate")}</>;
  const secondsLeft = fullAt - view.now;
  if (secondsLeft > FAR_SECONDS) return <>{t("Not within 3 years")}</>;
  const days = new Intl.NumberFormat(view.language).format(Math.max(0, Math.round(secondsLeft / DAY)));
  const text = t("about {0}, in {1} days", dateText(view, fullAt), days);
  return isFilling ? <Badge kind={secondsLeft < 31 * DAY ? "bad" : "wait"} label={text} /> : text;
}
