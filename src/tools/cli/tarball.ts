import { gzipSync } from "node:zlib";

const BLOCK = 512;

/** Packs texts below `package/`, as npm installs them from a file or an address. No entry has a time or an owner. */
export function tarball(files: Readonly<Record<string, string>>): Buffer {
  const blocks = Object.entries(files).flatMap(([path, text]) => {
    const content = Buffer.from(text);
    return [header(`package/${path}`, content.length), content, Buffer.alloc(-content.length & (BLOCK - 1))];
  });
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]), { level: 9 });
}

/** The header of a file in the ustar format. Its numbers are octal. */
function header(path: string, size: number): Buffer {
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, digits: number) => value.toString(8).padStart(digits, "0");
  block.write(path);
  block.write(["0000644", "0000000", "0000000", octal(size, 11), octal(0, 11)].join("\0"), 100);
  // The checksum is computed while its own field holds blanks.
  block.write("        0", 148);
  block.write("ustar\x0000", 257);
  block.write(
    `${octal(
      block.reduce((sum, byte) => sum + byte),
      6,
    )}\0`,
    148,
  );
  return block;
}
