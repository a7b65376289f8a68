import { callersDocument } from "../openapi/callers-document.ts";
import { openApiDocument } from "../openapi/document.ts";
import { clientPackage } from "./client-package.ts";
import { consoleFiles } from "./console-files.ts";
import { docsFiles } from "./docs-files.ts";
import { readText } from "./layered-styles.ts";

/** All files that are made for src/assets, by their paths there. */
export async function assetFiles(): Promise<Record<string, string | Buffer>> {
  const { version } = JSON.parse(readText("package.json")) as { version: string };
  const json = (document: unknown) => `${JSON.stringify(document, null, 2)}\n`;
  const openApi = json(openApiDocument(version));
  return {
    "openapi.json": openApi,
    "openapi.callers.json": json(callersDocument(version)),
    "client.tgz": clientPackage().tarball,
    ...(await docsFiles(openApi)),
    ...(await consoleFiles()),
  };
}
