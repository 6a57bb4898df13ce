/** The source of the generated worker. Short and readable: `weir eject` makes it the project's. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { CliFault } from "../console.ts";
import { splitCodeSpec, type CodeSpec, toServerConfig } from "./langgraph-json.ts";
import { NAME } from "./package.ts";
import { posix, type Project, schemasFile } from "./project.ts";

const HEADER = "// Generated from langgraph.json by weir on each build. `weir eject` makes it yours.";

/** `lazy("./src/agent.ts:graph", () => import("../src/agent.ts"))` as seen from a file in `folder`. */
function lazyImport(project: Project, folder: string, key: string, spec: string | CodeSpec, query = ""): string {
  const { file, name } = typeof spec === "string" ? splitCodeSpec(spec) : spec;
  const path = resolve(project.root, file);
  if (!existsSync(path)) throw new CliFault(`langgraph.json: "${key}" names ${file}, which does not exist.`);
  return `lazy(${JSON.stringify(`${file}:${name}`)}, () => import(${JSON.stringify(specifier(folder, path) + query)}))`;
}

/** The option `ui`: bundles of components, which `weir` makes of the files (bundle/ui.ts). */
function components(project: Project, folder: string): string[] {
  const entries = Object.entries(project.config.ui ?? {}).map(([name, file]) => {
    const spec = { file, name: "default" };
    const imported = lazyImport(project, folder, `ui.${name}`, spec, `?ui=${encodeURIComponent(name)}`);
    return `    // @ts-expect-error -- weir makes this module of the file\n    ${JSON.stringify(name)}: ${imported},`;
  });
  return entries.length === 0 ? [] : ["  ui: {", ...entries, "  },"];
}

function specifier(folder: string, path: string): string {
  const found = posix(folder, path);
  return found.startsWith(".") ? found : `./${found}`;
}

/** Packages of providers whose names differ. */
const PACKAGES: Record<string, string> = { azure_openai: "openai", bedrock: "aws", google: "google-genai" };

const isPath = (embed: string): boolean => /^[./]/.test(embed) || /\.[cm]?[jt]s(:|$)/.test(embed);

/** The provider whose models are a binding's. */
const WORKERS_AI = "workers-ai";

/** What a generated worker imports for `store.index.embed`. */
function embedderName(embed: string): string[] {
  if (isPath(embed)) return [];
  return [embed.startsWith(`${WORKERS_AI}:`) ? "workersAiEmbeddings" : "embeddingsFrom"];
}

/** `store.index.embed`: a file of the project's, or `<provider>:<model>` of an installed package. */
function embeddings(project: Project, folder: string, embed: string): string {
  if (isPath(embed)) return lazyImport(project, folder, "store.index.embed", embed);
  const provider = embed.split(":")[0] ?? "";
  if (!embed.includes(":"))
    throw new CliFault(
      `langgraph.json: "store.index.embed" is "${embed}". Expected "<provider>:<model>" or "<file>:<export>".`,
    );
  if (provider === WORKERS_AI) return `workersAiEmbeddings(${JSON.stringify(embed.slice(WORKERS_AI.length + 1))})`;
  const name = `@langchain/${PACKAGES[provider] ?? provider.replaceAll("_", "-")}`;
  return `embeddingsFrom(${JSON.stringify(embed)}, () => import(${JSON.stringify(name)}))`;
}

/**
 * `folder` is where the file will be. `main` is the entry of the project's own, whose exports the worker gets; when it is
 * `ejected`, that entry is the worker.
 */
export function workerSource(project: Project, folder: string, main?: string, ejected = false): string {
  if (main && ejected) {
    const entry = JSON.stringify(specifier(folder, join(project.root, main)));
    return `${HEADER}\nexport { default } from ${entry};\nexport * from ${entry};\n`;
  }
  const { graphs, auth, http, store, a2a, evaluators = {} } = project.config;
  const entries = Object.entries(graphs).map(([id, graph]) => {
    const spec = typeof graph === "string" ? graph : graph.path;
    return `    ${JSON.stringify(id)}: ${lazyImport(project, folder, `graphs.${id}`, spec)},`;
  });
  const options = ["  graphs: {", ...entries, "  },"];
  options.push(...components(project, folder));
  if (auth?.path) options.push(`  auth: ${lazyImport(project, folder, "auth.path", auth.path)},`);
  if (http?.app) options.push(`  app: ${lazyImport(project, folder, "http.app", http.app)},`);
  if (a2a) options.push(`  a2a: ${JSON.stringify(a2a)},`);
  const scored = Object.entries(evaluators).map(
    ([name, spec]) => `    ${JSON.stringify(name)}: ${lazyImport(project, folder, `evaluators.${name}`, spec)},`,
  );
  if (scored.length > 0) options.push("  evaluators: {", ...scored, "  },");
  const embed = store?.index?.embed;
  if (embed) options.push(`  embeddings: ${embeddings(project, folder, embed)},`);
  const schemas = schemasFile(project);
  // An ejected worker is committed, the folder of what Weir generates is not.
  const typed = folder === project.weirDir && existsSync(schemas);
  if (typed) options.push("  schemas,");
  const config = toServerConfig(project.config);
  if (Object.keys(config).length > 0) options.push(`  config: ${JSON.stringify(config)},`);
  const names = ["createWeir", ...(embed ? embedderName(embed) : []), "lazy"].sort();
  const own = main ? [`export * from ${JSON.stringify(specifier(folder, join(project.root, main)))};`] : [];
  return [
    HEADER,
    `import { ${names.join(", ")} } from ${JSON.stringify(NAME)};`,
    "",
    `export { Ledger, Limiter, Thread, ThreadIndex, TraceIndex, TracePartition } from ${JSON.stringify(NAME)};`,
    ...own,
    ...(typed ? [`import schemas from ${JSON.stringify(specifier(folder, schemas))};`] : []),
    "",
    "export default createWeir({",
    ...options,
    "});",
    "",
  ].join("\n");
}
