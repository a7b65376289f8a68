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

/** The homes in a value of the var CLOSED_HOMES, in lower case, without duplicates. */
export function namesIn(list = ""): string[] {
  const names = list.split(",").map((name) => name.trim().toLowerCase());
  return [...new Set(names.filter((name) => name !== ""))];
}
