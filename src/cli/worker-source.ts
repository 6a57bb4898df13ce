/** The source of the generated worker. Short and readable: `weir eject` makes it the project's. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { Fault } from "./fault.ts";
import { posix } from "./generate.ts";
import { partsOf } from "./langgraph-json.ts";
import type { Project } from "./project.ts";

const HEADER = "// Generated from langgraph.json by weir on each build. `weir eject` makes it yours.";

/** `lazy("./src/agent.ts:graph", () => import("../src/agent.ts"))` as seen from a file in `folder`. */
function lazy(project: Project, folder: string, key: string, spec: string): string {
  const { file, name } = partsOf(spec);
  const path = resolve(project.root, file);
  if (!existsSync(path)) throw new Fault(`langgraph.json: "${key}" names ${file}, which does not exist.`);
  return `lazy(${JSON.stringify(`${file}:${name}`)}, () => import(${JSON.stringify(specifier(folder, path))}))`;
}

function specifier(folder: string, path: string): string {
  const found = posix(folder, path);
  return found.startsWith(".") ? found : `./${found}`;
}

/** `folder` is where the file will be; `main` is the entry of the project's own, whose exports the worker gets. */
export function workerSource(project: Project, folder: string, main: string | undefined): string {
  const { graphs, auth, http: { app, ...http } = {} } = project.config;
  const entries = Object.entries(graphs).map(([id, graph]) => {
    const spec = typeof graph === "string" ? graph : graph.path;
    return `    ${JSON.stringify(id)}: ${lazy(project, folder, `graphs.${id}`, spec)},`;
  });
  const options = ["  graphs: {", ...entries, "  },"];
  if (auth?.path) options.push(`  auth: ${lazy(project, folder, "auth.path", auth.path)},`);
  if (app) options.push(`  app: ${lazy(project, folder, "http.app", app)},`);
  const config = { http };
  if (Object.keys(http).length > 0) options.push(`  config: ${JSON.stringify(config)},`);
  const own = main ? [`export * from ${JSON.stringify(specifier(folder, join(project.root, main)))};`] : [];
  return [
    HEADER,
    'import { createWeir, lazy } from "weir";',
    "",
    'export { Thread, ThreadIndex, TracePartition } from "weir";',
    ...own,
    "",
    "export default createWeir({",
    ...options,
    "});",
    "",
  ].join("\n");
}
