import { openApiDocument } from "../openapi/document.ts";
import { clientPackage } from "./client-package.ts";
import { consoleFiles } from "./console-files.ts";
import { docsFiles } from "./docs-files.ts";
import { readText } from "./layered-styles.ts";

/** All files that are made for src/assets, by their paths there. */
export async function assetFiles(): Promise<Record<string, string | Buffer>> {
  const { version } = JSON.parse(readText("package.json")) as { version: string };
  const openApi = `${JSON.stringify(openApiDocument(version), null, 2)}\n`;
  return {
    "openapi.json": openApi,
    "client.tgz": clientPackage().tarball,
    ...(await docsFiles(openApi)),
    ...(await consoleFiles()),
  };
}
