/** What the texts and the bounds of a block must have for a run of the block to pass a filter. */
import type { Comparison } from "../../fields.ts";
import { type Filter, isJsonObject, type Json, type PairTest, parseFilter } from "../../filter/filter.ts";
import type { Literal } from "../../filter/syntax.ts";
import { patternPieces } from "../../filter/values.ts";
import type { RunSelection } from "../../rpc.ts";
import { type Bounded, isBounded, BLOCK_RUNS, blockSql, blocksWith, runsOfBlocks, withinBounds } from "./blocks.ts";
import { isMarked, markValue, GRAM, splitGrams, hasGrams, SLICE_ROWS } from "./grams.ts";

/** `undefined` says nothing: any block may have such a run. */
export type Wanted = { text: string } | { bounded: Bounded } | { all: Wanted[] } | { any: Wanted[] } | undefined;

/** Longer texts are searched by their beginning. */
const MOST = 200;
/** A text that JSON may write in several ways, or that is no string in JSON. */
const AMBIGUOUS = /^(?:[-+.\d]|true$|false$|null$|[{[])/i;

/** The conditions of a selection, without its filters on the whole trace. */
export function readWanted({ filter, threadId, parentRunId, runType }: RunSelection): Wanted {
  const columns = { thread_id: threadId, parent_run_id: parentRunId, run_type: runType };
  const equal = Object.entries(columns).map(([column, value]) =>
    value === undefined ? undefined : wantComparison(column, "eq", value),
  );
  return wantAll([...equal, filter ? wantFilter(parseFilter(filter)) : undefined]);
}

export function wantFilter(filter: Filter): Wanted {
  switch (filter.op) {
    case "and":
      return wantAll(filter.args.map(wantFilter));
    case "or":
      return any(filter.args.map(wantFilter));
    case "compare":
      return wantComparison(filter.field, filter.comparison, filter.value);
    case "in":
      return any(filter.values.map((value) => wantComparison(filter.field, "eq", value)));
    case "tag":
      return wantText(JSON.stringify(filter.tag));
    case "exists":
      return wantText(`${JSON.stringify(filter.key)}:`);
    case "contains":
      return wantContained(filter.metadata);
    case "search":
      return any([wantText(filter.text), wantText(escapeValue(filter.text))]);
    case "pair":
      return pair(filter.kind, filter.tests);
    case "not":
      return wantNot(filter.arg);
  }
}

/** What a run that does not pass a filter wants. Grams say nothing of what a run lacks. */
function wantNot(filter: Filter): Wanted {
  switch (filter.op) {
    case "and":
      return any(filter.args.map(wantNot));
    case "or":
      return wantAll(filter.args.map(wantNot));
    case "not":
      return wantFilter(filter.arg);
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
function comparedByNot(column: string, comparison: Comparison, value: Literal): Wanted {
  if (comparison === "like") return undefined;
  const opposite = wantBounded(column, OPPOSITE[comparison], value);
  const isOrdered = comparison !== "eq" && comparison !== "neq";
  return isOrdered ? any([opposite, wantBounded(column, "eq", null)]) : opposite;
}

/** Texts are not compared by their order, which is not the same here and in SQLite. */
function wantBounded(column: string, comparison: Comparison, value: Literal): Wanted {
  const isText = isMarked(column);
  if (!isBounded(column) || comparison === "like" || (isText && comparison === "eq" && value !== null))
    return undefined;
  if (value !== null && typeof value !== (isText ? "string" : "number")) return undefined;
  return { bounded: { column, comparison, value: value as string | number | null } };
}

function wantAll(parts: Wanted[]): Wanted {
  const known = parts.filter((part) => part !== undefined);
  return known.length === 0 ? undefined : { all: known };
}

/** Of alternatives, one that says nothing lets every block pass. */
function any(parts: Wanted[]): Wanted {
  return parts.includes(undefined) ? undefined : { any: parts };
}

function wantText(whole: string): Wanted {
  const known = whole.slice(0, MOST);
  return known.length < GRAM ? undefined : { text: known };
}

/** A string as it is inside JSON. An unpaired surrogate would be an escape there. */
function escapeValue(value: string): string {
  return JSON.stringify(value.slice(0, MOST).replace(/[\uD800-\uDBFF]$/, "")).slice(1, -1);
}

function wantComparison(column: string, comparison: Comparison, value: Literal): Wanted {
  const within = wantBounded(column, comparison, value);
  if (within !== undefined) return within;
  if (typeof value !== "string" || !(isMarked(column) || column === "error")) return undefined;
  if (comparison === "like") return wantAll(literals(value).map(wantText));
  if (comparison !== "eq") return undefined;
  return wantText(isMarked(column) ? markValue(column, value) : value);
}

function literals(pattern: string): string[] {
  return patternPieces(pattern).flatMap((piece) => (typeof piece === "object" ? [piece.text] : []));
}

/** Entries of a JSON object, as JSON.stringify writes them. */
function wantContained(entries: { [key: string]: Json }): Wanted {
  return wantAll(
    Object.entries(entries).map(([key, value]) => {
      const name = `${JSON.stringify(key)}:`;
      if (isJsonObject(value)) return wantAll([wantText(`${name}{`), wantContained(value)]);
      return wantText(typeof value === "number" ? name : name + JSON.stringify(value));
    }),
  );
}

type Kind = Extract<Filter, { op: "pair" }>["kind"];

/** All tests are of one entry, so a key and a value that are both given stand beside each other. */
function pair(kind: Kind, tests: PairTest[]): Wanted {
  // Feedback comes after its run and is no part of a block.
  if (kind === "feedback" || tests.every(({ operator }) => operator === "neq")) return undefined;
  const equal = (part: string) => tests.find((test) => test.part === part && test.operator === "eq")?.value;
  const [key, value] = [equal("key"), equal("value")];
  const entry = kind === "metadata" ? member(key, value) : wantPair(key, value);
  const patterns = tests.filter(({ operator }) => operator === "like").flatMap((test) => literals(String(test.value)));
  return wantAll([entry, ...patterns.map((piece) => (isPlain(piece) ? wantText(escapeValue(piece)) : undefined))]);
}

/** `"key":"value"` */
function member(key: PairTest["value"] | undefined, value: PairTest["value"] | undefined): Wanted {
  const name = typeof key === "string" ? `${JSON.stringify(key)}:` : ":";
  if (typeof value !== "string" || AMBIGUOUS.test(value)) return wantText(name);
  return wantText(`${name}"${escapeValue(value)}${value.length < MOST ? '"' : ""}`);
}

/** `["path","value"]` */
function wantPair(key: PairTest["value"] | undefined, value: PairTest["value"] | undefined): Wanted {
  const name = typeof key === "string" ? `[${JSON.stringify(key)},` : ",";
  if (typeof value !== "string") return wantText(name);
  return wantText(`${name}"${escapeValue(value)}${value.length < MOST ? '"]' : ""}`);
}

/** A value that is an object or a number is compared as SQLite writes it. */
function isPlain(piece: string): boolean {
  return !/["\\]/.test(piece) && !/^[-+.\deE]*$/.test(piece);
}

// Which blocks can have runs that match a filter, according to their grams and bounds.

/** The slices that are read for one text. */
const MOST_SLICES = 6;
/** So few blocks are read as a whole; of more, the runs are read in the order of their start. */
const FEW = 40;

/** Where the runs are that can pass: a FROM clause, a condition, and their bound values, which go before all others. */
export interface Source {
  from: string;
  sql: string;
  values: string[];
  /** Whether only a few runs have to be read. */
  isSmall: boolean;
}

/** The runs that can pass the filter. */
export function selectSource(sql: SqlStorage, wanted: Wanted, alias = "r"): Source {
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
  { values, ...source }: Source,
): { source: Source; blocks: number[]; runs: number } {
  const all = () => Object.values(blocksWith(sql, "has_grams")).flat();
  const blocks = values[0] === undefined ? all() : (JSON.parse(values[0]) as number[]);
  return {
    source: { ...source, from: runsOfBlocks(), sql: "1", values: [JSON.stringify(blocks)] },
    blocks,
    runs: blocks.length * BLOCK_RUNS,
  };
}

function selectPassing(sql: SqlStorage, wanted: Wanted, blocks: number[]): number[] {
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
  const slices = [...splitGrams(text)].sort(([, a], [, b]) => b.length - a.length).slice(0, MOST_SLICES);
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
