/** Whether the files that langgraph.json names export what it says. */
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { build } from "esbuild";
import { partsOf } from "./langgraph-json.ts";
import type { Project } from "./project.ts";

/**
 * The names that a module exports; undefined when they are known only at run time: `export *`, CommonJS, or a syntax
 * error.
 */
async function exportsOf(file: string): Promise<string[] | undefined> {
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
  const { graphs, auth, http } = config;
  const named: [string, string | undefined][] = [
    ...Object.entries(graphs).map(([id, graph]): [string, string] => [
      `graphs.${id}`,
      typeof graph === "string" ? graph : graph.path,
    ]),
    ["auth.path", auth?.path],
    ["http.app", http?.app],
  ];
  const faults = await Promise.all(
    named.map(async ([key, spec]) => {
      const { file, name } = partsOf(spec ?? "");
      const path = resolve(root, file);
      const names = spec && existsSync(path) ? await exportsOf(path) : undefined;
      if (!names || names.includes(name)) return [];
      return [`langgraph.json: "${key}" names the export "${name}" of ${file}, which exports ${names.join(", ")}.`];
    }),
  );
  return faults.flat();
}
