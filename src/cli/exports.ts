/** Whether the files that langgraph.json names export what it says. */
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { build } from "esbuild";
import { namedCode, splitSpec } from "./project/langgraph-json.ts";
import type { Project } from "./project.ts";

/**
 * The names that a module exports; undefined when they are known only at run time: `export *`, CommonJS, or a syntax
 * error.
 */
async function readExportNames(file: string): Promise<string[] | undefined> {
  const source = readFileSync(file, "utf8");
  if (!/\bexport\b/.test(source) || /\bexport\s*\*/.test(source)) return undefined;
  const result = await build({
    entryPoints: [file],
    bundle: false,
    write: false,
    metafile: true,
    format: "esm",
    outdir: join(file, "..", ".weir"),
    logLevel: "silent",
  }).catch(() => undefined);
  const names = Object.values(result?.metafile.outputs ?? {}).flatMap((output) => output.exports);
  return names.length > 0 ? names : undefined;
}

/** A sentence for each export that langgraph.json names and the file does not have, with the names that it has. */
export async function missingExports({ root, config }: Project): Promise<string[]> {
  const faults = await Promise.all(
    namedCode(config).map(async ([key, spec]) => {
      const { file, name } = splitSpec(spec);
      const path = resolve(root, file);
      const names = existsSync(path) ? await readExportNames(path) : undefined;
      if (!names || names.includes(name)) return [];
      return [`langgraph.json: "${key}" names the export "${name}" of ${file}, which exports ${names.join(", ")}.`];
    }),
  );
  return faults.flat();
}
