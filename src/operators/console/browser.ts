/** The first name that matches counts, because Edge and Opera call themselves Chrome too, and Chrome calls itself Safari. */
const BROWSERS: [RegExp, string][] = [
  [/\bEdg(?:A|iOS)?\//, "Edge"],
  [/\bOPR\//, "Opera"],
  [/\bSamsungBrowser\//, "Samsung Internet"],
  [/\b(?:Firefox|FxiOS)\//, "Firefox"],
  [/\b(?:Headless)?Chrome\/|\bCriOS\//, "Chrome"],
  [/\bSafari\//, "Safari"],
  [/^curl\//, "curl"],
];
const SYSTEMS: [RegExp, string][] = [
  [/\bAndroid\b/, "Android"],
  [/\b(?:iPhone|iPad)\b/, "iOS"],
  [/\bWindows\b/, "Windows"],
  [/\bMac OS X\b/, "macOS"],
  [/\bCrOS\b/, "ChromeOS"],
  [/\bLinux\b/, "Linux"],
];

/** A browser and its system in a few words, such as `Firefox, Linux`; null when the User-Agent shows neither. */
export function browserOf(userAgent: string): string | null {
  const browserAndSystem = [BROWSERS, SYSTEMS].map((list) => list.find(([pattern]) => pattern.test(userAgent))?.[1]);
  return browserAndSystem.filter((name) => name !== undefined).join(", ") || null;
}
