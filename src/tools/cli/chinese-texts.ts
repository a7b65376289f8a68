import { ADMIN_CHINESE } from "../docs/admin-chinese.ts";
import { readText } from "./layered-styles.ts";

// This is not in docs-files.ts, which imports JSX: node runs `npm run tables`, and cannot load JSX.

export const consoleTexts = (): Record<string, string> => JSON.parse(readText("src/assets/console/zh.json"));

/** The texts of the docs, and the console's texts, which hold the words for `x-error-detail`. */
export const chineseTexts = (): Record<string, string> => ({
  ...consoleTexts(),
  ...ADMIN_CHINESE,
  ...JSON.parse(readText("src/tools/docs/zh.json")),
});
