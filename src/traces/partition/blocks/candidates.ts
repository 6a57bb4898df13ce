/** What the texts and the bounds of a block must have for a run of the block to pass a filter. */
import type { Comparison } from "../../fields.ts";
import { type TraceFilter, isJsonObject, type Json, type PairTest, parseFilter } from "../../filter/filter.ts";
import type { FilterLiteral } from "../../filter/syntax.ts";
import { patternPieces } from "../../filter/values.ts";
import type { RunSelection } from "../../rpc.ts";
import { type BoundedRun, isBounded, BLOCK_RUNS, blockSql, blocksWith, runsOfBlocks, withinBounds } from "./blocks.ts";
import { isMarked, markValue, GRAM, splitGrams, hasGrams, SLICE_ROWS } from "./grams.ts";

/** `undefined` says nothing: any block may have such a run. */
export type BlockCondition =
  | { text: string }
  | { bounded: BoundedRun }
  | { all: BlockCondition[] }
  | { any: BlockCondition[] }
  | undefined;

/** Longer texts are searched by their beginning. */
const MAX_CONDITIONS = 200;
/** A text that JSON may write in several ways, or that is no string in JSON. */
const AMBIGUOUS = /^(?:[-+.\d]|true$|false$|null$|[{[])/i;

/** The conditions of a selection, without its filters on the whole trace. */
export function readBlockCondition({ filter, threadId, parentRunId, runType }: RunSelection): BlockCondition {
  const columns = { thread_id: threadId, parent_run_id: parentRunId, run_type: runType };
  const equal = Object.entries(columns).map(([column, value]) =>
    value === undefined ? undefined : conditionOfComparison(column, "eq", value),
  );
  return allOf([...equal, filter ? blockConditionOf(parseFilter(filter)) : undefined]);
}

export function blockConditionOf(filter: TraceFilter): BlockCondition {
  switch (filter.op) {
    case "and":
      return allOf(filter.args.map(blockConditionOf));
    case "or":
      return anyOf(filter.args.map(blockConditionOf));
    case "compare":
      return conditionOfComparison(filter.field, filter.comparison, filter.value);
    case "in":
      return anyOf(filter.values.map((value) => conditionOfComparison(filter.field, "eq", value)));
    case "tag":
      return conditionOfText(JSON.stringify(filter.tag));
    case "exists":
      return conditionOfText(`${JSON.stringify(filter.key)}:`);
    case "contains":
      return conditionOfContained(filter.metadata);
    case "search":
      return anyOf([conditionOfText(filter.text), conditionOfText(escapeValue(filter.text))]);
    case "pair":
      return pair(filter.kind, filter.tests);
    case "not":
      return conditionOfNot(filter.arg);
  }
}

/** What a run that does not pass a filter wants. Grams say nothing of what a run lacks. */
function conditionOfNot(filter: TraceFilter): BlockCondition {
  switch (filter.op) {
    case "and":
      return anyOf(filter.args.map(conditionOfNot));
    case "or":
      return allOf(filter.args.map(conditionOfNot));
    case "not":
      return blockConditionOf(filter.arg);
    case "tag":
      return { bounded: { withoutTag: filter.tag } };
    case "compare":
      return comparedByNot(filter.field, filter.comparison, filter.value);
    case "in":
    case "exists":
    case "contains":
    case "search":
    case "pair":
      return undefined;
  }
}

const OPPOSITE = { gt: "lte", gte: "lt", lt: "gte", lte: "gt", eq: "neq", neq: "eq" } as const;

/** A run without a value passes no comparison but that with null, so it passes the opposite of each. */
function comparedByNot(column: string, comparison: Comparison, value: FilterLiteral): BlockCondition {
  if (comparison === "like") return undefined;
  const opposite = conditionOfBounds(column, OPPOSITE[comparison], value);
  const isOrdered = comparison !== "eq" && comparison !== "neq";
  return isOrdered ? anyOf([opposite, conditionOfBounds(column, "eq", null)]) : opposite;
}

/** Texts are not compared by their order, which is not the same here and in SQLite. */
function conditionOfBounds(column: string, comparison: Comparison, value: FilterLiteral): BlockCondition {
  const isText = isMarked(column);
  if (!isBounded(column) || comparison === "like" || (isText && comparison === "eq" && value !== null))
    return undefined;
  if (value !== null && typeof value !== (isText ? "string" : "number")) return undefined;
  return { bounded: { column, comparison, value: value as string | number | null } };
}

function allOf(parts: BlockCondition[]): BlockCondition {
  const known = parts.filter((part) => part !== undefined);
  return known.length === 0 ? undefined : { all: known };
}

/** Of alternatives, one that says nothing lets every block pass. */
function anyOf(parts: BlockCondition[]): BlockCondition {
  return parts.includes(undefined) ? undefined : { any: parts };
}

function conditionOfText(whole: string): BlockCondition {
  const known = whole.slice(0, MAX_CONDITIONS);
  return known.length < GRAM ? undefined : { text: known };
}

/** A string as it is inside JSON. An unpaired surrogate would be an escape there. */
function escapeValue(value: string): string {
  return JSON.stringify(value.slice(0, MAX_CONDITIONS).replace(/[\uD800-\uDBFF]$/, "")).slice(1, -1);
}

function conditionOfComparison(column: string, comparison: Comparison, value: FilterLiteral): BlockCondition {
  const within = conditionOfBounds(column, comparison, value);
  if (within !== undefined) return within;
  if (typeof value !== "string" || !(isMarked(column) || column === "error")) return undefined;
  if (comparison === "like") return allOf(literals(value).map(conditionOfText));
  if (comparison !== "eq") return undefined;
  return conditionOfText(isMarked(column) ? markValue(column, value) : value);
}

function literals(pattern: string): string[] {
  return patternPieces(pattern).flatMap((piece) => (typeof piece === "object" ? [piece.text] : []));
}

/** Entries of a JSON object, as JSON.stringify writes them. */
function conditionOfContained(entries: { [key: string]: Json }): BlockCondition {
  return allOf(
    Object.entries(entries).map(([key, value]) => {
      const name = `${JSON.stringify(key)}:`;
      if (isJsonObject(value)) return allOf([conditionOfText(`${name}{`), conditionOfContained(value)]);
      return conditionOfText(typeof value === "number" ? name : name + JSON.stringify(value));
    }),
  );
}

type Kind = Extract<TraceFilter, { op: "pair" }>["kind"];

/** All tests are of one entry, so a key and a value that are both given stand beside each other. */
function pair(kind: Kind, tests: PairTest[]): BlockCondition {
  // Feedback comes after its run and is no part of a block.
  if (kind === "feedback" || tests.every(({ operator }) => operator === "neq")) return undefined;
  const equal = (part: string) => tests.find((test) => test.part === part && test.operator === "eq")?.value;
  const [key, value] = [equal("key"), equal("value")];
  const entry = kind === "metadata" ? member(key, value) : conditionOfPair(key, value);
  const patterns = tests.filter(({ operator }) => operator === "like").flatMap((test) => literals(String(test.value)));
  return allOf([entry, ...patterns.map((piece) => (isPlain(piece) ? conditionOfText(escapeValue(piece)) : undefined))]);
}

/** `"key":"value"` */
function member(key: PairTest["value"] | undefined, value: PairTest["value"] | undefined): BlockCondition {
  const name = typeof key === "string" ? `${JSON.stringify(key)}:` : ":";
  if (typeof value !== "string" || AMBIGUOUS.test(value)) return conditionOfText(name);
  return conditionOfText(`${name}"${escapeValue(value)}${value.length < MAX_CONDITIONS ? '"' : ""}`);
}

/** `["path","value"]` */
function conditionOfPair(key: PairTest["value"] | undefined, value: PairTest["value"] | undefined): BlockCondition {
  const name = typeof key === "string" ? `[${JSON.stringify(key)},` : ",";
  if (typeof value !== "string") return conditionOfText(name);
  return conditionOfText(`${name}"${escapeValue(value)}${value.length < MAX_CONDITIONS ? '"]' : ""}`);
}

/** A value that is an object or a number is compared as SQLite writes it. */
function isPlain(piece: string): boolean {
  return !/["\\]/.test(piece) && !/^[-+.\deE]*$/.test(piece);
}

// Which blocks can have runs that match a filter, according to their grams and bounds.

/** The slices that are read for one text. */
const MAX_SLICES = 6;
/** So few blocks are read as a whole; of more, the runs are read in the order of their start. */
const FEW = 40;

/** Where the runs are that can pass: a FROM clause, a condition, and their bound values, which go before all others. */
export interface BlockSource {
  from: string;
  sql: string;
  values: string[];
  /** Whether only a few runs have to be read. */
  isSmall: boolean;
}

/** The runs that can pass the filter. */
export function selectSource(sql: SqlStorage, wanted: BlockCondition, alias = "r"): BlockSource {
  const everywhere = { from: `runs ${alias}`, sql: "1", values: [], isSmall: false };
  if (!wanted) return everywhere;
  const { sealed, open } = blocksWith(sql, "has_grams");
  if (sealed.length === 0) return everywhere;
  const blocks = [...selectPassing(sql, wanted, sealed), ...open];
  if (blocks.length === sealed.length + open.length) return everywhere;
  const values = [JSON.stringify(blocks)];
  if (blocks.length <= FEW) return { from: runsOfBlocks(alias), sql: "1", values, isSmall: true };
  // Every index has the number, so that the row of a run in another block is not read.
  const among = `${blockSql(`${alias}.n`)} IN (SELECT value FROM json_each(?))`;
  return { ...everywhere, sql: among, values };
}

/** The same runs, read block by block, and how many they are at most. */
export function narrowByBlock(
  sql: SqlStorage,
  { values, ...source }: BlockSource,
): { source: BlockSource; blocks: number[]; runs: number } {
  const all = () => Object.values(blocksWith(sql, "has_grams")).flat();
  const blocks = values[0] === undefined ? all() : (JSON.parse(values[0]) as number[]);
  return {
    source: { ...source, from: runsOfBlocks(), sql: "1", values: [JSON.stringify(blocks)] },
    blocks,
    runs: blocks.length * BLOCK_RUNS,
  };
}

function selectPassing(sql: SqlStorage, wanted: BlockCondition, blocks: number[]): number[] {
  if (wanted === undefined || blocks.length === 0) return blocks;
  if ("text" in wanted) return havingText(sql, wanted.text, blocks);
  if ("bounded" in wanted) return withinBounds(sql, wanted.bounded, blocks);
  if ("all" in wanted) return wanted.all.reduce((left, part) => selectPassing(sql, part, left), blocks);
  const found = new Set<number>();
  for (const part of wanted.any) {
    for (const block of selectPassing(
      sql,
      part,
      blocks.filter((block) => !found.has(block)),
    ))
      found.add(block);
  }
  return blocks.filter((block) => found.has(block));
}

function havingText(sql: SqlStorage, text: string, blocks: number[]): number[] {
  // The slices with most grams are the most selective.
  const slices = [...splitGrams(text)].sort(([, a], [, b]) => b.length - a.length).slice(0, MAX_SLICES);
  let left = blocks;
  for (const [slice, bits] of slices) {
    if (left.length === 0) break;
    const rows = sql.exec(
      "SELECT value, bits FROM json_each(?) b CROSS JOIN grams ON n = value + ?",
      JSON.stringify(left),
      slice * SLICE_ROWS,
    );
    left = [...rows.raw()].flatMap(([block, stored]) =>
      hasGrams(new Uint8Array(stored as ArrayBuffer), bits) ? [block as number] : [],
    );
  }
  return left;
}
