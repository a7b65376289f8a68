import { createHash } from "node:crypto";

/** A file of src/assets that browsers may cache for ever, because its name holds a digest of its content. */
export interface HashedFile {
  /** The path from src/assets. */
  path: string;
  address: string;
  content: string;
}

/** @param name the path from src/assets without the digest, such as `docs/assets/docs.css` */
export function hashedFile(name: string, content: string): HashedFile {
  const hash = createHash("sha256").update(content).digest("hex").slice(0, 10);
  const path = name.replace(/(?=\.\w+$)/, `-${hash}`);
  return { path, address: `/${path}`, content };
}

export const asFiles = (...files: HashedFile[]): Record<string, string> =>
  Object.fromEntries(files.map(({ path, content }) => [path, content]));
