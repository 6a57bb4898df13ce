/** JSON Schemas of graphs that are typed only in TypeScript, from the types that the compiler sees. */
import { existsSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import TJS from "typescript-json-schema";
import { writeWhole } from "../write-whole.ts";
import { partsOf } from "../langgraph-json.ts";
import { posix } from "../paths.ts";
import type { Project } from "../project.ts";
import { type GraphSource, type Kind, KINDS, MESSAGE, typeName, typesSource } from "./source.ts";

export type JsonSchema = Record<string, unknown>;
export type Schemas = Record<string, Partial<Record<Kind, JsonSchema>>>;

/**
 * The schemas by graph id. A kind that a graph does not declare is left out, as is a graph whose types cannot be read: its
 * schemas are then the names of its channels. Takes seconds, since it checks the project's types.
 */
export function extractSchemas(project: Project): Schemas {
  const graphs = sourcesOf(project);
  if (graphs.length === 0) return {};
  const folder = join(project.weirDir, "schemas");
  const file = join(folder, "types.ts");
  writeWhole(file, typesSource(graphs.map(({ source }) => source)));
  // Vite reloads the page for any tsconfig.json below its root.
  const config = join(folder, "settings.json");
  rmSync(join(folder, "tsconfig.json"), { force: true });
  writeWhole(config, JSON.stringify(configOf(project, folder)));
  const program = TJS.programFromConfig(config);
  const generator = TJS.buildGenerator(program, { required: true, ref: false, topRef: false, ignoreErrors: true }, [
    file,
  ]);
  if (!generator) return {};
  const entries = graphs.map(({ id }, i) => {
    const kinds = KINDS.flatMap((kind) => {
      const schema = attempt(() => tidy(generator.getSchemaForSymbol(typeName(i, kind)) as JsonSchema) as JsonSchema);
      return schema && declares(schema) ? [[kind, schema] as const] : [];
    });
    return [id, Object.fromEntries(kinds)] as const;
  });
  return Object.fromEntries(entries.filter(([, kinds]) => Object.keys(kinds).length > 0));
}

/** The graphs whose modules are TypeScript. */
function sourcesOf({ root, weirDir, config }: Project): { id: string; source: GraphSource }[] {
  return Object.entries(config.graphs).flatMap(([id, graph]) => {
    const { file, name } = partsOf(typeof graph === "string" ? graph : graph.path);
    if (!/\.[cm]?tsx?$/.test(file)) return [];
    // With the JavaScript ending every kind of module resolution finds the file.
    const specifier = posix(join(weirDir, "schemas"), resolve(root, file)).replace(/\.([cm]?)tsx?$/, ".$1js");
    return [{ id, source: { specifier, name } }];
  });
}

/** The project's own settings, as far as they say how modules and types are found. */
function configOf({ root }: Project, folder: string): object {
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
