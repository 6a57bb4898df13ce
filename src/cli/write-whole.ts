/** Files that are written as a whole. */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/**
 * Writes the file if its content is new. A reader sees the old content or the new, never a part. The part is written in
 * `folder`, outside of what wrangler watches.
 */
export function writeWhole(file: string, content: string | Uint8Array, mode?: number, folder = dirname(file)): void {
  if (existsSync(file) && readFileSync(file).equals(Buffer.from(content))) return;
  mkdirSync(dirname(file), { recursive: true });
  const part = join(folder, `${basename(file)}.${process.pid}.part`);
  writeFileSync(part, content, { mode });
  renameSync(part, file);
}
