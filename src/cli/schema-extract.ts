/** JSON Schemas of graphs that are typed only in TypeScript, from the types that the compiler sees. */
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import TJS from "typescript-json-schema";
import { writeWhole } from "./write-whole.ts";
import { splitSpec } from "./project/langgraph-json.ts";
import { posix } from "./paths.ts";
import type { Project } from "./project.ts";
import { type GraphSource, type Kind, KINDS, MESSAGE, typeName, typesSource, withTypes } from "./schemas/source.ts";
import { subgraphsIn } from "./schemas/subgraphs.ts";

const { ts } = TJS;

export type JsonSchema = Record<string, unknown>;
type Kinds = Partial<Record<Kind, JsonSchema>>;
/** By graph id; those of its subgraphs by their namespaces. */
export type Schemas = Record<string, Kinds & { subgraphs?: Record<string, Kinds> }>;

/**
 * The schemas by graph id. A kind that a graph does not declare is left out, as is a graph whose types cannot be read: its
 * schemas are then the names of its channels. Takes seconds, since it checks the project's types.
 */
export function extractSchemas(project: Project): Schemas {
  const graphs = listSources(project);
  if (graphs.length === 0) return {};
  const folder = join(project.weirDir, "schemas");
  const file = join(folder, "types.ts");
  writeWhole(file, typesSource(graphs.map(({ source }) => source)));
  // Vite reloads the page for any tsconfig.json below its root.
  rmSync(join(folder, "tsconfig.json"), { force: true });
  const program = createProgram(project, folder, graphs);
  const generator = TJS.buildGenerator(program, { required: true, ref: false, topRef: false, ignoreErrors: true }, [
    file,
  ]);
  if (!generator) return {};
  const readKinds = (i: number, subgraph?: number): Kinds => {
    const kinds = KINDS.flatMap((kind) => {
      const name = typeName(i, kind, subgraph);
      const schema = attempt(() => tidy(generator.getSchemaForSymbol(name) as JsonSchema) as JsonSchema);
      return schema && declares(schema) ? [[kind, schema] as const] : [];
    });
    return Object.fromEntries(kinds);
  };
  const entries = graphs.map(({ id, source }, i) => {
    const subgraphs = source.subgraphs.map(({ namespace }, j) => [namespace, readKinds(i, j)] as const);
    const declared = subgraphs.filter(([, kinds]) => Object.keys(kinds).length > 0);
    return [id, { ...readKinds(i), ...(declared.length > 0 && { subgraphs: Object.fromEntries(declared) }) }] as const;
  });
  return Object.fromEntries(entries.filter(([, kinds]) => Object.keys(kinds).length > 0));
}

interface Source {
  id: string;
  /** The path of the graph's file. */
  file: string;
  source: GraphSource;
}

/** The program of the types, in which the graphs' files also export the types of their subgraphs. */
function createProgram(project: Project, folder: string, graphs: Source[]) {
  const { options, fileNames } = ts.parseJsonConfigFileContent(readTsconfig(project, folder), ts.sys, folder);
  const host = ts.createCompilerHost(options);
  const variables = new Map<string, Set<string>>();
  for (const { file, source } of graphs) {
    const known = variables.get(posix(project.root, file)) ?? new Set();
    variables.set(posix(project.root, file), new Set([...known, ...source.subgraphs.map(({ variable }) => variable)]));
  }
  const read = host.readFile.bind(host);
  host.readFile = (path) => {
    const text = read(path);
    const wanted = variables.get(posix(project.root, path));
    return text !== undefined && wanted ? withTypes(text, wanted) : text;
  };
  return ts.createProgram({ rootNames: fileNames, options: { ...options, noEmit: true }, host });
}

/** The graphs whose modules are TypeScript. */
function listSources({ root, weirDir, config }: Project): Source[] {
  return Object.entries(config.graphs).flatMap(([id, graph]) => {
    const { file, name } = splitSpec(typeof graph === "string" ? graph : graph.path);
    if (!/\.[cm]?tsx?$/.test(file)) return [];
    // With the JavaScript ending every kind of module resolution finds the file.
    const path = resolve(root, file);
    const specifier = posix(join(weirDir, "schemas"), path).replace(/\.([cm]?)tsx?$/, ".$1js");
    const subgraphs = existsSync(path) ? subgraphsIn(path, readFileSync(path, "utf8"), name) : [];
    return [{ id, file: path, source: { specifier, name, subgraphs } }];
  });
}

/** The project's own settings, as far as they say how modules and types are found. */
function readTsconfig({ root }: Project, folder: string): object {
  const own = join(root, "tsconfig.json");
  const known = existsSync(own);
  const modules = {
    module: "esnext",
    moduleResolution: "bundler",
    target: "es2022",
    lib: ["es2023", "dom"],
    jsx: "preserve",
  };
  return {
    ...(known && { extends: posix(folder, own) }),
    compilerOptions: {
      ...(!known && modules),
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      composite: false,
      incremental: false,
      declaration: false,
      declarationMap: false,
      rootDir: null,
      outDir: null,
    },
    files: ["types.ts"],
    include: [],
  };
}

function attempt<T>(made: () => T): T | undefined {
  try {
    return made();
  } catch {
    return undefined;
  }
}

/** A type of no object, such as `never` or `any`, says nothing. */
const declares = ({ type, properties }: JsonSchema): boolean =>
  type === "object" && Object.keys((properties as object | undefined) ?? {}).length > 0;

/** Messages as the runtime's schemas have them: a list is marked with `langgraph_type`. */
function tidy(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(tidy);
  if (typeof schema !== "object" || schema === null) return schema;
  const given = schema as JsonSchema;
  if (isMessage(given)) return { type: "object" };
  const { $schema: _, ...rest } = given;
  const made = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, tidy(value)]));
  return given.type === "array" && isMessages(given.items) ? { ...made, langgraph_type: "messages" } : made;
}

const isMessage = (schema: unknown): boolean =>
  typeof schema === "object" && schema !== null && Object.hasOwn((schema as JsonSchema).properties ?? {}, MESSAGE);

const isMessages = (items: unknown): boolean =>
  isMessage(items) || ((items as JsonSchema | undefined)?.anyOf as unknown[] | undefined)?.every(isMessage) === true;
