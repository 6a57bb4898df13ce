/** Which parts of a folder import which. A part is a subfolder or a file. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";

/** The parts in order of name, and how many imports each has of which others. */
export type Imports = Map<string, Map<string, number>>;

const IMPORT = /^\s*(?:import|export)\b[^"';]*?\bfrom "(\.[^"]+)"|\bimport\("(\.[^"]+)"\)|^import "(\.[^"]+)"/gm;

/** `skip` leaves parts out. A file of the folder itself is a part, too, by its name. */
export function readImports(folder: string, skip: string[] = []): Imports {
  const findPart = (file: string) => {
    const [first = ""] = relative(folder, file).split(sep);
    return first;
  };
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name) && !entry.name.endsWith(".d.ts"))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !skip.includes(findPart(file)))
    .sort();
  const parts: Imports = new Map([...new Set(files.map(findPart))].sort().map((part) => [part, new Map()]));
  for (const file of files) {
    for (const [, from, later, only] of readFileSync(file, "utf8").matchAll(IMPORT)) {
      const target = join(dirname(file), from ?? later ?? only ?? "");
      const part = findPart(target);
      if (relative(folder, target).startsWith("..") || !parts.has(part) || part === findPart(file)) continue;
      const counts = parts.get(findPart(file));
      counts?.set(part, (counts.get(part) ?? 0) + 1);
    }
  }
  return parts;
}
