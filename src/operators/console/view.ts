import { TZDateMini, tzOffset } from "@date-fns/tz";
import { createContext, useContext } from "hono/jsx";
import type { RequestContext } from "../../core/http/request-context.ts";
import { unixSeconds } from "../../core/runtime.ts";
import type { AccessRefusal } from "../services/access-sessions.ts";
import type { ConsoleSession } from "../services/console-sessions.ts";
import { withParameter } from "./console-path.ts";
import { LANGUAGE_COOKIE, readCookie, ZONE_COOKIE } from "./cookies.ts";

export type Language = "en" | "zh";

/** What every page knows about its reader. */
export interface View {
  language: Language;
  /** A text in the reader's language, given in English. `{0}`, `{1}`, … stand for the values. */
  t: (english: string, ...values: (string | number | undefined)[]) => string;
  /** Path and query of the page. A form may return here. */
  here: string;
  /** Undefined when nobody is signed in. */
  session: ConsoleSession | undefined;
  /** Why the request's assertion of Cloudflare Access opened no session, and the e-mail address in that assertion. */
  refused: { reason: AccessRefusal; email: string | undefined } | undefined;
  /** Whether the reader may make the call at a path of the console: pages show no other forms and links. False where no call is. */
  may: (path: string, method?: "GET" | "POST") => boolean;
  /** A whole number as text, such as `1,234`. */
  number: (value: number) => string;
  /** Unix seconds. */
  now: number;
  /** An IANA name from the browser. It is UTC for the browser's first page. The client's address may be a proxy's in another zone. */
  timeZone: string;
  /** A time in Unix seconds as text, in the reader's language and zone. */
  time: (seconds: number) => string;
  /** With seconds. */
  exactTime: (seconds: number) => string;
  day: (seconds: number) => string;
  /** The date of a UTC day, whatever the reader's zone is. */
  utcDay: (seconds: number) => string;
  utcMonth: (seconds: number) => string;
  /** The hour that begins at a time, such as `07:00–08:00`. An hour of yesterday has its date. An older one is shown as its date alone. */
  hour: (seconds: number) => string;
  /** How long ago a time is, such as `3 min ago`. A future time, or one before yesterday, is shown as date and time without a year. */
  ago: (seconds: number) => string;
  /** Whether there are several homes. With one home, only the page Homes names it, unless it is closed. */
  hasHomes: boolean;
  closedHomes: ReadonlySet<string>;
  /** Whether the home of the page's site is closed: until it is open, no delivery, erasure or deletion goes on there. */
  isHomeClosed: boolean;
  /** Whether a home has a database. */
  isBound: (home: string) => boolean;
}

/** Gives the view to the components of a page: `showPage` renders them inside of it. */
export const ViewContext = createContext<View | undefined>(undefined);

/** The view of the page that a component is rendered in. @throws Error outside of a page */
export function useView(): View {
  const view = useContext(ViewContext);
  if (view === undefined) throw new Error("A component was rendered outside of a page.");
  return view;
}

export async function viewOf(c: RequestContext): Promise<View> {
  return languageOf(c.req.raw) === "zh" ? makeView(c, "zh", await chineseTexts(c)) : englishView(c);
}

export const englishView = (c: RequestContext): View => makeView(c, "en", {});

function makeView(c: RequestContext, language: Language, texts: Record<string, string>): View {
  const timeZone = timeZoneOf(c.req.raw);
  const now = unixSeconds(c.var.isolate.runtime);
  const { pathname, search, searchParams } = new URL(c.req.url);
  return {
    language,
    t: (english, ...values) =>
      (texts[english] ?? english).replace(/\{(\d)\}/g, (_, index) => String(values[Number(index)] ?? "")),
    // Without the language, so that a link with one language and the switch to the other do not contradict each other.
    here: searchParams.has("lang") ? withParameter(pathname + search, "lang") : pathname + search,
    session: undefined,
    refused: undefined,
    may: () => false,
    number: new Intl.NumberFormat(language).format,
    now,
    timeZone,
    ...timesOf(language === "zh" ? "zh-CN" : "en-GB", timeZone, now),
    hasHomes: false,
    closedHomes: new Set(),
    isHomeClosed: false,
    isBound: () => true,
  };
}

let chinese: Record<string, string> | undefined;

/**
 * The Chinese texts by their English ones. They are a static asset, because in the Worker's code every cold start would load them.
 * When they cannot be read, pages are in English.
 */
async function chineseTexts(c: RequestContext): Promise<Record<string, string>> {
  if (chinese !== undefined) return chinese;
  try {
    const asset = await c.env.ASSETS?.fetch(new URL("/console/zh.json", c.req.url));
    chinese = await asset?.json<Record<string, string>>();
  } catch {
    c.var.isolate.telemetry.warn({ warning: "the console's Chinese texts did not load: pages are in English" });
  }
  return chinese ?? {};
}

/** The language that the address asks for with `?lang=en` or `?lang=zh`; undefined when it asks for none. */
export function askedLanguage({ method, url }: Request): Language | undefined {
  if (method !== "GET" && method !== "HEAD") return undefined;
  const tag = new URL(url).searchParams.get("lang")?.toLowerCase().split("-")[0];
  return tag === "en" || tag === "zh" ? tag : undefined;
}

/** The language of the address or of the reader's earlier choice; otherwise the best match of Accept-Language; otherwise English. */
export function languageOf(request: Request): Language {
  const chosen = askedLanguage(request) ?? readCookie(request, LANGUAGE_COOKIE);
  if (chosen === "en" || chosen === "zh") return chosen;
  const languages = (request.headers.get("accept-language") ?? "").split(",").map((range) => {
    const [tag = "", quality] = range.trim().toLowerCase().split(/; *q=/);
    return { language: tag.split("-")[0], quality: quality === undefined ? 1 : Number(quality) };
  });
  const best = languages
    .filter(({ language, quality }) => (language === "en" || language === "zh") && quality > 0)
    .sort((a, b) => b.quality - a.quality)[0];
  return best?.language === "zh" ? "zh" : "en";
}

/** The last second, after or before the epoch, that a date can have (ECMA-262, time values). */
const LAST_DATE = 8.64e12;

/** The texts of a page's times. Making a format takes longer than using it, and a list has hundreds of times: so each is made once. */
function timesOf(locale: string, timeZone: string, now: number) {
  const format = (options: Intl.DateTimeFormatOptions) => {
    let made: Intl.DateTimeFormat | undefined;
    return (at: number): string => {
      made ??= new Intl.DateTimeFormat(locale, { timeZone, ...options });
      return made.format(at * 1000);
    };
  };
  const short = { day: "numeric", month: "short" } as const;
  const minutes = { hour: "2-digit", minute: "2-digit" } as const;
  const whole = format({ dateStyle: "medium", timeStyle: "short" });
  const day = format({ dateStyle: "medium" });
  const recent = format({ ...short, ...minutes });
  const clock = format(minutes);
  const old = format({ ...short, year: "numeric" });
  let relative: Intl.RelativeTimeFormat | undefined;
  return {
    // Old rows of the audit log may hold any number that a caller sent as a time.
    time: (at: number) => (Math.abs(at) > LAST_DATE ? String(at) : whole(at)),
    exactTime: format({ dateStyle: "medium", timeStyle: "medium" }),
    day,
    utcDay: format({ dateStyle: "medium", timeZone: "UTC" }),
    utcMonth: format({ month: "short", timeZone: "UTC" }),
    hour(at: number): string {
      if (now - at >= 86_400) return day(at);
      // An hour of yesterday has its date. Without the date, it could be mistaken for a later hour of today.
      return `${day(at) === day(now) ? clock(at) : recent(at)}–${clock(at + 3_600)}`;
    },
    ago(at: number): string {
      const past = now - at;
      if (past < 0 || past >= 86_400) return Math.abs(past) < 180 * 86_400 ? recent(at) : old(at);
      relative ??= new Intl.RelativeTimeFormat(locale, { numeric: "auto", style: "short" });
      if (past < 60) return relative.format(0, "second");
      return past < 3600
        ? relative.format(-Math.floor(past / 60), "minute")
        : relative.format(-Math.floor(past / 3600), "hour");
    },
  };
}

function timeZoneOf(request: Request): string {
  try {
    const timeZone = readCookie(request, ZONE_COOKIE) ?? "UTC";
    return new Intl.DateTimeFormat("en", { timeZone }).resolvedOptions().timeZone;
  } catch {
    return "UTC";
  }
}

/**
 * The start of the reader's day and of their week (Monday), in Unix seconds.
 *
 * @param now Unix seconds
 */
export function startOfDayAndWeek(now: number, timeZone: string): { day: number; week: number } {
  const date = new TZDateMini(now * 1000, timeZone);
  const day = date.setHours(0, 0, 0, 0);
  date.setDate(date.getDate() - ((date.getDay() + 6) % 7));
  // Where the clock goes forward at midnight, that day begins at 01:00, and its Monday at 00:00 nevertheless.
  return { day: day / 1000, week: date.setHours(0, 0, 0, 0) / 1000 };
}

/**
 * The Unix seconds of a local time such as `2027-01-15T08:30` or `2027-01-15T08:30:59`, as a browser sends it. Undefined for any other
 * text.
 *
 * @param isEnd whether a minute without seconds means its last second
 */
export function secondsOf(text: string, timeZone: string, isEnd = false): number | undefined {
  const [, minute = "", second] = /^(\d{4}-\d\d-\d\d[T ]\d\d:\d\d)(?::(\d\d))?$/.exec(text.trim()) ?? [];
  const iso = `${minute.replace(" ", "T")}:${second ?? (isEnd ? "59" : "00")}`;
  const local = Date.parse(`${iso}Z`) / 1000;
  // Some parsers read 31 February as 3 March.
  if (Number.isNaN(local) || !new Date(local * 1000).toISOString().startsWith(iso)) return undefined;
  return local - offsetAt(local - offsetAt(local, timeZone), timeZone);
}

/** The local time that {@link secondsOf} reads as these Unix seconds. */
export const localTime = (at: number, timeZone: string): string =>
  new Date((at + offsetAt(at, timeZone)) * 1000).toISOString().slice(0, 19);

/** How many seconds a zone is ahead of UTC. */
const offsetAt = (at: number, timeZone: string) => tzOffset(timeZone, new Date(at * 1000)) * 60;
