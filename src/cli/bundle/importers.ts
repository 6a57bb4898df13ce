import type { Metafile } from "esbuild";

/** The files that import this one, directly or through others, and the file itself. Paths as the bundle's record has them. */
export function findImporters({ inputs }: Metafile, path: string): Set<string> {
  const found = new Set([path]);
  // A set that grows while it is walked is walked to its new end.
  for (const target of found)
    for (const [importer, { imports }] of Object.entries(inputs))
      if (imports.some((one) => one.path === target)) found.add(importer);
  return found;
}
