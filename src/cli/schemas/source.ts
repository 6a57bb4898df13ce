/** A TypeScript module whose exported types are a project's input, output, state and configuration, plain enough for JSON Schema. */

import type { Subgraph } from "./subgraphs.ts";

/** A graph's file as an import specifier with its JavaScript ending, its export, and its subgraphs. */
export interface GraphSource {
  specifier: string;
  name: string;
  subgraphs: Subgraph[];
}

export const KINDS = ["input", "output", "state", "config"] as const;
export type Kind = (typeof KINDS)[number];

/** The exported type of a kind of the graph at this place in the list, or of the subgraph at that place in the graph's. */
export const typeName = (index: number, kind: Kind, subgraph?: number): string =>
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
