/** The last second, after or before the epoch, that a date can have (ECMA-262, time values). */
const LAST_DATE = 8.64e12;

/** The formats of a page's times. Making a format takes longer than using it, and a list has hundreds of times: so each is made once. */
export function timesOf(locale: string, timeZone: string, now: number) {
  const format = (options: Intl.DateTimeFormatOptions) =>
    memoize(() => new Intl.DateTimeFormat(locale, { timeZone, ...options }));
  const short = { day: "numeric", month: "short" } as const;
  const whole = format({ dateStyle: "medium", timeStyle: "short" });
  const exact = format({ dateStyle: "medium", timeStyle: "medium" });
  const day = format({ dateStyle: "medium" });
  const minutes = { hour: "2-digit", minute: "2-digit" } as const;
  const recent = format({ ...short, ...minutes });
  const clock = format(minutes);
  const old = format({ ...short, year: "numeric" });
  const relative = memoize(() => new Intl.RelativeTimeFormat(locale, { numeric: "auto", style: "short" }));
  return {
    // Old rows of the audit log may hold any number that a caller sent as a time.
    time: (at: number) => (Math.abs(at) > LAST_DATE ? String(at) : whole().format(at * 1000)),
    exactTime: (at: number) => exact().format(at * 1000),
    day: (at: number) => day().format(at * 1000),
    hour(at: number): string {
      if (now - at >= 86_400) return day().format(at * 1000);
      // An hour of yesterday has its date. Without the date, it could be mistaken for a later hour of today.
      const begins = day().format(at * 1000) === day().format(now * 1000) ? clock() : recent();
      return `${begins.format(at * 1000)}–${clock().format((at + 3_600) * 1000)}`;
    },
    ago(at: number): string {
      const past = now - at;
      if (past < 0 || past >= 86_400) return (Math.abs(past) < 180 * 86_400 ? recent() : old()).format(at * 1000);
      if (past < 60) return relative().format(0, "second");
      return past < 3600
        ? relative().format(-Math.floor(past / 60), "minute")
        : relative().format(-Math.floor(past / 3600), "hour");
    },
  };
}

function memoize<Made>(make: () => Made): () => Made {
  let made: Made | undefined;
  return () => (made ??= make());
}
