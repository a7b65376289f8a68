/** The name of the home that is the directory's database. */
export const MAIN_HOME = "main";

export const HOME_NAME = /^[a-z][a-z0-9-]{0,30}$/;

/** The rule for the names of homes' bindings. An error message quotes it when a binding breaks it. */
export const BINDING_RULE =
  "A home's binding is HOME_, a letter, then up to 30 of A-Z, 0-9 and _, all in upper case; the home main is DB.";

const DIRECTORY = "DB";
const PREFIX = "HOME_";

/** The home of a D1 binding: `main` for DB, `eu-west` for HOME_EU_WEST. Undefined for a binding that is no home. */
export function homeOfBinding(binding: string): string | undefined {
  if (binding === DIRECTORY) return MAIN_HOME;
  const home = binding.slice(PREFIX.length).toLowerCase().replaceAll("_", "-");
  return home !== MAIN_HOME && HOME_NAME.test(home) && bindingOfHome(home) === binding ? home : undefined;
}

export function bindingOfHome(home: string): string {
  return home === MAIN_HOME ? DIRECTORY : `${PREFIX}${home.toUpperCase().replaceAll("-", "_")}`;
}

/** Whether a D1 binding starts with HOME_ but breaks {@link BINDING_RULE}. */
export const isMisnamed = (binding: string): boolean =>
  binding.startsWith(PREFIX) && homeOfBinding(binding) === undefined;

/** The setting with which the previous release closed homes: a list of their names. This release reads it, but never writes it. */
export const CLOSED_LIST = "CLOSED_HOMES";

/** The name of the Worker's secret that closes a home: CLOSED_EU_WEST for `eu-west`. An empty value closes it too. */
export function closedSecret(home: string): string {
  const name = `CLOSED_${home.toUpperCase().replaceAll("-", "_")}`;
  // An old deployment may have a home with the name `homes`. Its secret must not have the name of the list.
  return name === CLOSED_LIST ? "CLOSED__HOMES" : name;
}

/** The home that a secret of this name closes; undefined for any other setting. */
export function homeOfSecret(name: string): string | undefined {
  const home = name
    .replace(/^CLOSED__?/, "")
    .toLowerCase()
    .replaceAll("_", "-");
  return HOME_NAME.test(home) && closedSecret(home) === name ? home : undefined;
}

/** The homes that settings close, bound or not, because a name may be wrong. */
export function closedBy(settings: Readonly<Record<string, unknown>>): string[] {
  const texts = Object.entries(settings).filter((entry): entry is [string, string] => typeof entry[1] === "string");
  return [
    ...new Set(texts.flatMap(([name, value]) => (name === CLOSED_LIST ? namesIn(value) : (homeOfSecret(name) ?? [])))),
  ];
}

/** The homes in a value of {@link CLOSED_LIST}, in lower case, without duplicates. */
export function namesIn(list = ""): string[] {
  const names = list.split(",").map((name) => name.trim().toLowerCase());
  return [...new Set(names.filter((name) => name !== ""))];
}
