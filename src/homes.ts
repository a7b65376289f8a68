/** The home in the directory's database. */
export const MAIN_HOME = "main";

/** The form of the names of homes. */
export const HOME_NAME = /^[a-z][a-z0-9-]{0,30}$/;

/** What the binding of a further home is, as a sentence for whoever wrote another one. */
export const BINDING_RULE =
  "A home's binding is HOME_, a letter, then up to 30 of A-Z, 0-9 and _, all in upper case; the home main is DB.";

const DIRECTORY = "DB";
const PREFIX = "HOME_";

/** The home that a D1 binding is: DB is `main`, HOME_EU_WEST is `eu-west`. Undefined for a binding that is no home. */
export function homeOfBinding(binding: string): string | undefined {
  if (binding === DIRECTORY) return MAIN_HOME;
  const home = binding.slice(PREFIX.length).toLowerCase().replaceAll("_", "-");
  return home !== MAIN_HOME && HOME_NAME.test(home) && bindingOfHome(home) === binding ? home : undefined;
}

/** The D1 binding of a home. */
export function bindingOfHome(home: string): string {
  return home === MAIN_HOME ? DIRECTORY : `${PREFIX}${home.toUpperCase().replaceAll("-", "_")}`;
}

/** Whether a D1 binding begins as that of a home does and is none: see {@link BINDING_RULE}. */
export const isMisnamed = (binding: string): boolean =>
  binding.startsWith(PREFIX) && homeOfBinding(binding) === undefined;

/** The homes that a value of the var CLOSED_HOMES names, each once, in lower case. */
export function namesIn(list = ""): string[] {
  const names = list.split(",").map((name) => name.trim().toLowerCase());
  return [...new Set(names.filter((name) => name !== ""))];
}
