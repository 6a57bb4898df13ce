/** JSON Schemas of graphs that are typed only in TypeScript, from the types that the compiler sees. */
import { getLibFiles, libFolderInMemoryPath as LIB, ts } from "@ts-morph/common";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { writeWhole, posix, type Project } from "./project/project.ts";
import { splitCodeSpec } from "./project/langgraph-json.ts";
import { type JsonSchema, typeSchema } from "./type-schema.ts";

// The graphs that a graph has as nodes, read from the source of its file: their types are not in the type of the graph.

type Node = ts.Node;

/** A node that is a graph: its namespace, such as `outer|inner`, and the variable of the file that holds it. */
export interface Subgraph {
  namespace: string;
  variable: string;
}

/** `owner`: the variable of the graph that has the node. */
interface Added {
  owner: string;
  node: string;
  variable: string;
}

/** The deepest graphs that are found. */
const MAX_LEVELS = 5;

/** The subgraphs of an exported graph. A node that is a function is among them, since only its type shows what it is. */
export function subgraphsIn(file: string, text: string, exported: string): Subgraph[] {
  const { added, mentions } = readSource(file, text);
  const under = (variable: string, path: string[]): Subgraph[] => {
    const owners = findReached(variable, mentions);
    return added
      .filter(({ owner }) => path.length < MAX_LEVELS && owners.has(owner))
      .flatMap((one) => {
        const own = [...path, one.node];
        return [{ namespace: own.join("|"), variable: one.variable }, ...under(one.variable, own)];
      });
  };
  return under(exported, []);
}

/** Calls of `addNode`, and for each variable or function those that it mentions outside of its nodes. */
function readSource(file: string, text: string): { added: Added[]; mentions: Map<string, Set<string>> } {
  const added: Added[] = [];
  const mentions = new Map<string, Set<string>>();
  const mention = (by: string, name: string) => mentions.set(by, (mentions.get(by) ?? new Set()).add(name));
  const visit = (node: Node, within: string): void => {
    if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
      const { expression, name } = node.expression;
      if (name.text === "addNode") {
        const [called, graph] = node.arguments;
        const variable = graph && findBase(graph);
        if (called && ts.isStringLiteralLike(called) && variable !== undefined)
          added.push({ owner: findBase(expression) ?? within, node: called.text, variable });
        return visit(expression, within);
      }
    }
    if (ts.isIdentifier(node)) mention(within, node.text);
    if (ts.isExportSpecifier(node)) mention(node.name.text, (node.propertyName ?? node.name).text);
    const own = declaredName(node) ?? within;
    if (own !== within) mention(within, own);
    ts.forEachChild(node, (child) => visit(child, own));
  };
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true), "");
  return { added, mentions };
}

/** The name under which others use what this node declares. */
function declaredName(node: Node): string | undefined {
  if (ts.isExportAssignment(node)) return "default";
  if (ts.isFunctionDeclaration(node)) return node.name?.text ?? "default";
  return ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) ? node.name.text : undefined;
}

/** The variable that an expression begins with: `inner` of `inner.compile()`. */
function findBase(node: Node): string | undefined {
  if (ts.isIdentifier(node)) return node.text;
  const isWrapped =
    ts.isCallExpression(node) ||
    ts.isPropertyAccessExpression(node) ||
    ts.isParenthesizedExpression(node) ||
    ts.isAwaitExpression(node) ||
    ts.isAsExpression(node) ||
    ts.isNonNullExpression(node);
  return isWrapped ? findBase(node.expression) : undefined;
}

/** The variable, and all that it mentions, directly or not. */
function findReached(variable: string, mentions: Map<string, Set<string>>): Set<string> {
  const found = new Set([variable]);
  for (const name of found) for (const next of mentions.get(name) ?? []) found.add(next);
  return found;
}

// A TypeScript module whose exported types are a project's input, output, state and configuration, plain enough for JSON Schema.

/** A graph's file as an import specifier with its JavaScript ending, its export, and its subgraphs. */
export interface GraphSource {
  specifier: string;
  name: string;
  subgraphs: Subgraph[];
}

export const KINDS = ["input", "output", "state", "config"] as const;
export type SchemaKind = (typeof KINDS)[number];

/** The exported type of a kind of the graph at this place in the list, or of the subgraph at that place in the graph's. */
export const typeName = (index: number, kind: SchemaKind, subgraph?: number): string =>
  `${graphName(index, subgraph)}_${kind}`;

const graphName = (index: number, subgraph?: number): string =>
  subgraph === undefined ? `graph${index}` : `graph${index}_${subgraph}`;

/** The type that a graph's file exports of one of its variables. */
const typeAlias = (variable: string): string => `weir_type_of_${variable}`;

/** A graph's file, which also exports the types of its subgraphs. */
export const withTypes = (text: string, variables: Iterable<string>): string =>
  [text, ...[...variables].map((variable) => `export type ${typeAlias(variable)} = typeof ${variable};`)].join("\n");

/** The member that represents a chat message, because its class has far more members than its JSON. */
export const MESSAGE = "weir_message";

/**
 * The types of compiled graphs have other names in each version of LangGraph: `RunInput` and `RunOutput` before 1.0,
 * `~InputType` and `~OutputType` from then on. A type may contain itself, so `Plain` has a bounded depth.
 */
const TYPES = `
type IsAny<T> = 0 extends 1 & T ? true : false;
type Message = { content: any; lc_kwargs: any; _getType(): any };
type PlainMessage = { ${MESSAGE}: true };
type Less = [never, 0, 1, 2, 3, 4, 5];

export type Plain<T, Depth extends number = 6> =
  IsAny<T> extends true ? any
  : [Depth] extends [never] ? any
  : T extends string | number | boolean | null | undefined | Date ? T
  : T extends bigint ? string
  : T extends (...args: any[]) => any ? any
  : T extends Message ? PlainMessage
  : "__overwrite__" extends keyof T ? never
  : T extends readonly (infer Item)[] ? Plain<Item, Less[Depth]>[]
  : T extends object ? { [Key in keyof T as Key extends string ? Key : never]: Plain<T[Key], Less[Depth]> }
  : any;

type Compiled<T> = T extends { compile(...args: any[]): infer G } ? G : T extends { graph: infer G } ? G : T;
type Graph<T> = T extends (...args: any[]) => infer R ? Compiled<Awaited<R>> : Compiled<Awaited<T>>;
type Update<Channel> = Channel extends { UpdateType: infer U } ? U : Channel extends () => infer Made ? Update<Made> : any;
type Settings<Spec> = string extends keyof Spec ? never : { [Key in keyof Spec]?: Update<Spec[Key]> };

export type Output<G> = G extends { "~OutputType": infer T } ? Awaited<T> : G extends { RunOutput: infer T } ? Awaited<T> : never;
export type Input<G> = G extends { "~InputType": infer T } ? T : G extends { RunInput: infer T } ? T : never;
export type Config<G> = G extends { builder: { _configSchema?: infer Spec } } ? Settings<NonNullable<Spec>> : never;
export type Of<T> = { graph: Graph<T> };
`;

/** The module. Its types are named by `typeName`. */
export function typesSource(graphs: GraphSource[]): string {
  const lines = graphs.flatMap(({ specifier, name, subgraphs }, i) => [
    `import type { ${name} as ${graphName(i)} } from ${JSON.stringify(specifier)};`,
    ...schemaTypes(`typeof ${graphName(i)}`, i),
    ...subgraphs.flatMap(({ variable }, j) => [
      `import type { ${typeAlias(variable)} as ${graphName(i, j)} } from ${JSON.stringify(specifier)};`,
      ...schemaTypes(graphName(i, j), i, j),
    ]),
  ]);
  return `${lines.join("\n")}\n${TYPES}`;
}

function schemaTypes(type: string, index: number, subgraph?: number): string[] {
  const of = `Of<${type}>["graph"]`;
  return [
    `export type ${typeName(index, "input", subgraph)} = Plain<Input<${of}>>;`,
    `export type ${typeName(index, "output", subgraph)} = Plain<Output<${of}>>;`,
    `export type ${typeName(index, "state", subgraph)} = Plain<Output<${of}>>;`,
    `export type ${typeName(index, "config", subgraph)} = Plain<Config<${of}>>;`,
  ];
}

type SchemasByKind = Partial<Record<SchemaKind, JsonSchema>>;
/** By graph id; those of its subgraphs by their namespaces. */
export type ExtractedSchemas = Record<string, SchemasByKind & { subgraphs?: Record<string, SchemasByKind> }>;

/**
 * The schemas by graph id. A kind that a graph does not declare is left out, as is a graph whose types cannot be read: its
 * schemas are then the names of its channels. Takes seconds, since it checks the project's types.
 */
export function extractSchemas(project: Project): ExtractedSchemas {
  const graphs = listSources(project);
  if (graphs.length === 0) return {};
  const folder = join(project.weirDir, "schemas");
  const file = join(folder, "types.ts");
  writeWhole(file, typesSource(graphs.map(({ source }) => source)));
  // Vite reloads the page for any tsconfig.json below its root.
  rmSync(join(folder, "tsconfig.json"), { force: true });
  const program = createProgram(project, folder, graphs);
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(file);
  const declared = source && checker.getSymbolAtLocation(source);
  if (!declared) return {};
  const types = new Map(checker.getExportsOfModule(declared).map((symbol) => [symbol.name, symbol]));
  const readKinds = (i: number, subgraph?: number): SchemasByKind => {
    const kinds = KINDS.flatMap((kind) => {
      const symbol = types.get(typeName(i, kind, subgraph));
      const schema = symbol && typeSchema(checker, checker.getDeclaredTypeOfSymbol(symbol));
      return schema && declares(schema) ? [[kind, tidy(schema) as JsonSchema] as const] : [];
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

interface GraphFile {
  id: string;
  /** The path of the graph's file. */
  file: string;
  source: GraphSource;
}

/** The program of the types, in which the graphs' files also export the types of their subgraphs. */
function createProgram(project: Project, folder: string, graphs: GraphFile[]) {
  const { options, fileNames } = ts.parseJsonConfigFileContent(readTsconfig(project, folder), ts.sys, folder);
  // The packages of types that a project has installed, as compilers before TypeScript 6 load them.
  options.types ??= ["*"];
  const host = ts.createCompilerHost(options);
  const variables = new Map<string, Set<string>>();
  for (const { file, source } of graphs) {
    const known = variables.get(posix(project.root, file)) ?? new Set();
    variables.set(posix(project.root, file), new Set([...known, ...source.subgraphs.map(({ variable }) => variable)]));
  }
  // The compiler is one file, with the declarations of the language in it.
  const libs = new Map(getLibFiles().map(({ fileName, text }) => [`${LIB}/${fileName}`, text]));
  host.getDefaultLibLocation = () => LIB;
  host.getDefaultLibFileName = (all) => `${LIB}/${ts.getDefaultLibFileName(all)}`;
  const [exists, read] = [host.fileExists.bind(host), host.readFile.bind(host)];
  host.fileExists = (path) => libs.has(path) || exists(path);
  host.readFile = (path) => {
    const text = libs.get(path) ?? read(path);
    const wanted = variables.get(posix(project.root, path));
    return text !== undefined && wanted ? withTypes(text, wanted) : text;
  };
  return ts.createProgram({ rootNames: fileNames, options: { ...options, noEmit: true }, host });
}

/** The graphs whose modules are TypeScript. */
function listSources({ root, weirDir, config }: Project): GraphFile[] {
  return Object.entries(config.graphs).flatMap(([id, graph]) => {
    const { file, name } = splitCodeSpec(typeof graph === "string" ? graph : graph.path);
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

/** A type of no object, such as `never` or `any`, says nothing. */
const declares = ({ type, properties }: JsonSchema): boolean =>
  type === "object" && Object.keys((properties as object | undefined) ?? {}).length > 0;

/** Messages as the runtime's schemas have them: a list is marked with `langgraph_type`. */
function tidy(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(tidy);
  if (typeof schema !== "object" || schema === null) return schema;
  const given = schema as JsonSchema;
  if (isMessage(given)) return { type: "object" };
  if (isMessages(given)) return { type: "array", items: { type: "object" }, langgraph_type: "messages" };
  return Object.fromEntries(Object.entries(given).map(([key, value]) => [key, tidy(value)]));
}

const isMessage = (schema: unknown): boolean =>
  typeof schema === "object" && schema !== null && Object.hasOwn((schema as JsonSchema).properties ?? {}, MESSAGE);

/** A list of messages. A graph that takes one also takes a message alone, texts, and pairs of a role and a text. */
const isMessages = ({ type, items, anyOf }: JsonSchema): boolean =>
  type === "array"
    ? listUnion(items).some(isMessage)
    : ((anyOf ?? []) as JsonSchema[]).some((one) => one.type === "array" && isMessages(one));

const listUnion = (schema: unknown): unknown[] =>
  ((schema as JsonSchema | undefined)?.anyOf as unknown[] | undefined) ?? [schema];
