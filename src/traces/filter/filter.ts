/** Parses the filter language (LangSmith's FQL). Every fault is a FilterProblem with its position. */
import {
  type Comparison,
  type Field,
  FIELDS,
  isField,
  isPairField,
  type Operator,
  OPERATORS,
  PAIR_FIELDS,
  PAIR_OPERATORS,
  PART_TYPES,
  type FieldType,
  type PairField,
  type PairKind,
  type PairPart,
  SEARCH_FIELDS,
  type SearchField,
} from "../fields.ts";
import { type ExactNumber, isObject, tryParseExact } from "../../lib/json.ts";
import { type FilterCall, type FilterLiteral, type FilterNode, readSyntax, FilterProblem } from "./syntax.ts";
import { checkPattern, toLiteral } from "./values.ts";

/** One test of a part of an entry; `in` carries its values as a list. */
export interface PairTest {
  part: PairPart;
  operator: Operator;
  value: FilterLiteral | FilterLiteral[];
}

export type Json = FilterLiteral | ExactNumber | Json[] | { [key: string]: Json };

export const isJsonObject = (value: Json): value is { [key: string]: Json } => isObject(value);

export type TraceFilter =
  | { op: "and" | "or"; args: TraceFilter[] }
  | { op: "not"; arg: TraceFilter }
  | { op: "compare"; field: Field; comparison: Comparison; value: FilterLiteral }
  | { op: "in"; field: Field; values: FilterLiteral[] }
  | { op: "tag"; tag: string }
  | { op: "contains"; metadata: { [key: string]: Json } }
  | { op: "exists"; key: string }
  | { op: "search"; fields: readonly SearchField[]; text: string }
  | { op: "pair"; kind: PairKind; tests: PairTest[] };

/** More conditions than this do not fit the bound parameters of one SQL statement. */
const MAX_CONDITIONS = 60;

/**
 * Parses a filter expression (reference: LangSmith's filter query language).
 * @throws FilterProblem (HTTP 400) that says what is wrong and at which 0-based position.
 */
export function parseFilter(text: string): TraceFilter {
  const counter = { left: MAX_CONDITIONS };
  return readCall(readSyntax(text), counter);
}

function readCall(call: FilterCall, counter: { left: number }): TraceFilter {
  switch (call.name) {
    case "and":
    case "or":
      return readJunction(call, call.name, counter);
    case "not":
      return { op: "not", arg: readCall(nestedCall(argument(call, 0, 1)), counter) };
    default:
  }
  if (counter.left-- === 0) throw new FilterProblem(`more than ${MAX_CONDITIONS} conditions`, call.at);
  switch (call.name) {
    case "eq":
    case "neq":
    case "gt":
    case "gte":
    case "lt":
    case "lte":
    case "like":
      return readComparison(call, call.name);
    case "in":
      return readIn(call);
    case "has":
      return readHas(call);
    case "exists":
      return readExists(call);
    case "search":
      return readSearch(call);
    default:
      throw new FilterProblem(`unknown function ${JSON.stringify(call.name.slice(0, 40))}`, call.at);
  }
}

/** `and` binds the tests of one entry's key and value that stand in it directly: see `bindPairs`. */
function readJunction(call: FilterCall, op: "and" | "or", counter: { left: number }): TraceFilter {
  if (call.args.length === 0) throw new FilterProblem(`${op} needs at least one condition`, call.at);
  const args = call.args.map((arg) => readCall(nestedCall(arg), counter));
  const bound = op === "and" ? bindPairs(args) : args;
  return bound.length === 1 ? (bound[0] as TraceFilter) : { op, args: bound };
}

/** Joins each test of a key with the tests of values beside it, so that they test the same entry. */
function bindPairs(args: TraceFilter[]): TraceFilter[] {
  const bound: TraceFilter[] = [];
  const open = new Map<PairKind, Extract<TraceFilter, { op: "pair" }>>();
  for (const arg of args) {
    // A pair of several tests comes from a nested `and`, which has bound its own.
    if (arg.op !== "pair" || arg.tests.length > 1) {
      bound.push(arg);
      continue;
    }
    const group = open.get(arg.kind);
    const startsAnother = arg.tests[0]?.part === "key" && group?.tests.some((test) => test.part === "key");
    if (group && !startsAnother) {
      group.tests.push(...arg.tests);
      continue;
    }
    const fresh = { ...arg, tests: [...arg.tests] };
    open.set(arg.kind, fresh);
    bound.push(fresh);
  }
  return bound;
}

function readComparison(call: FilterCall, comparison: Comparison): TraceFilter {
  const target = readField(argument(call, 0, 2));
  const node = argument(call, 1, 2);
  if (node.kind !== "literal")
    throw new FilterProblem("expected a value: a string, a number, true, false or null", node.at);
  checkOperator(target, comparison, call.at);
  if (comparison === "like") checkPattern(node);
  const value = toLiteral(target, node, comparison);
  if (target.pair) return readPair(target.pair, comparison, value);
  if (target.type === "error" && typeof value === "boolean") {
    const hasError = (comparison === "eq") === value;
    return { op: "compare", field: "error", comparison: hasError ? "neq" : "eq", value: null };
  }
  return { op: "compare", field: target.name as Field, comparison, value };
}

/** A null among inputs, outputs or metadata is a value like others. Feedback without a value has none. */
function readPair({ kind, part }: Pair, operator: Operator, given: PairTest["value"]): TraceFilter {
  const value = given === null && part === "value" && kind !== "feedback" ? "null" : given;
  return { op: "pair", kind, tests: [{ part, operator, value }] };
}

function readIn(call: FilterCall): TraceFilter {
  const target = readField(argument(call, 0, 2));
  const node = argument(call, 1, 2);
  if (node.kind !== "list") throw new FilterProblem('expected a list such as ["a", "b"]', node.at);
  checkOperator(target, "in", call.at);
  const values = node.items.map((item) => toLiteral(target, item, "in"));
  if (target.pair) return readPair(target.pair, "in", values);
  return { op: "in", field: target.name as Field, values };
}

function readHas(call: FilterCall): TraceFilter {
  const field = readName(argument(call, 0, 2));
  const node = argument(call, 1, 2);
  const text = readString(node);
  if (field.value === "tags") return { op: "tag", tag: text };
  if (field.value !== "metadata") throw new FilterProblem("has() takes tags or metadata", field.at);
  return { op: "contains", metadata: readObject(text, node.at) };
}

function readObject(text: string, at: number): { [key: string]: Json } {
  const value = tryParseExact(text);
  if (!isObject(value)) throw new FilterProblem("has(metadata, …) takes a JSON object in a string", at);
  const leaves = JSON.stringify(value).split(",").length;
  if (leaves > 20) throw new FilterProblem("has(metadata, …) takes at most 20 entries", at);
  return value as { [key: string]: Json };
}

function readExists(call: FilterCall): TraceFilter {
  const field = readName(argument(call, 0, 2));
  if (field.value !== "metadata") throw new FilterProblem("exists() takes metadata", field.at);
  return { op: "exists", key: readString(argument(call, 1, 2)) };
}

function readSearch(call: FilterCall): TraceFilter {
  if (call.args.length === 1) return { op: "search", fields: SEARCH_FIELDS, text: readString(argument(call, 0, 1)) };
  const field = readName(argument(call, 0, 2));
  const known = SEARCH_FIELDS.find((name) => name === field.value);
  if (!known) throw new FilterProblem(`search() looks into ${SEARCH_FIELDS.join(", ")}`, field.at);
  return { op: "search", fields: [known], text: readString(argument(call, 1, 2)) };
}

type Pair = (typeof PAIR_FIELDS)[PairField];

interface Target {
  name: Field | PairField;
  type: FieldType;
  pair?: Pair;
  at: number;
}

function readField(node: FilterNode): Target {
  const { value: name, at } = readName(node);
  if (isField(name)) return { name, type: FIELDS[name], at };
  if (isPairField(name)) {
    const pair = PAIR_FIELDS[name];
    return { name, type: PART_TYPES[pair.part], pair, at };
  }
  const hint = name === "tags" ? "; use has(tags, …)" : name === "metadata" ? "; use has(metadata, …)" : "";
  throw new FilterProblem(`unknown field ${JSON.stringify(name.slice(0, 40))}${hint}`, at);
}

function checkOperator(target: Target, operator: Operator, at: number): void {
  const allowed = target.pair ? PAIR_OPERATORS[target.pair.part] : OPERATORS[target.type];
  if (!allowed.includes(operator)) {
    throw new FilterProblem(`${operator} does not apply to ${target.name}, which takes ${allowed.join(", ")}`, at);
  }
}

/** The field's name: bare, or as a quoted string. */
function readName(node: FilterNode): { value: string; at: number } {
  if (node.kind === "name") return node;
  if (node.kind === "literal" && typeof node.value === "string") return { value: node.value, at: node.at };
  throw new FilterProblem("expected a field", node.at);
}

function readString(node: FilterNode): string {
  if (node.kind === "literal" && typeof node.value === "string") return node.value;
  throw new FilterProblem("expected a string", node.at);
}

function nestedCall(node: FilterNode): FilterCall {
  if (node.kind === "call") return node;
  throw new FilterProblem("expected a condition such as eq(…)", node.at);
}

function argument(call: FilterCall, index: number, count: number): FilterNode {
  const extra = call.args[count];
  if (extra) throw new FilterProblem(`${call.name} takes ${count} argument${count === 1 ? "" : "s"}`, extra.at);
  const node = call.args[index];
  if (!node) throw new FilterProblem(`${call.name} takes ${count} argument${count === 1 ? "" : "s"}`, call.at);
  return node;
}
