/** Filters over an item's value, as LangGraph's stores have them: `{field: value}` or `{field: {$gte: 1, $lt: 5}}`. */
import { type AnyColumn, type SQL, sql } from "drizzle-orm";
import { fitsInteger, member } from "../../db/conditions.ts";
import { isExactNumber, isObject, longDigits, type Json } from "../../lib/json.ts";
import { joinLabels } from "./row.ts";

export const OPERATORS = ["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin"] as const;
type Operator = (typeof OPERATORS)[number];

const COMPARISONS = { $gt: ">", $gte: ">=", $lt: "<", $lte: "<=" };

/** Whether a filter's value is made of operators rather than being a value to match. */
export function isOperators(value: unknown): value is Partial<Record<Operator, unknown>> {
  const keys = isObject(value) ? Object.keys(value) : [];
  return keys.length > 0 && keys.every((key) => key.startsWith("$"));
}

/** The condition that the object in `column` passes `filter`: every field, every operator. */
export function whereFilter(column: AnyColumn, filter: Record<string, unknown>): SQL {
  const tests = Object.entries(filter).flatMap(([field, value]) =>
    isOperators(value)
      ? Object.entries(value).map(([operator, operand]) => test(column, field, operator as Operator, operand))
      : [member(column, field, value)],
  );
  return tests.length === 0 ? sql`1` : sql.join(tests, sql` AND `);
}

function test(column: AnyColumn, field: string, operator: Operator, operand: unknown): SQL {
  switch (operator) {
    case "$eq":
      return member(column, field, operand);
    case "$ne":
      return sql`NOT ${member(column, field, operand)}`;
    case "$in":
      return matchesAny(column, field, operand as unknown[]);
    case "$nin":
      return sql`NOT ${matchesAny(column, field, operand as unknown[])}`;
    case "$gt":
    case "$gte":
    case "$lt":
    case "$lte": {
      // Numbers compare with numbers and texts with texts; anything else never passes.
      const types = sql.raw(typeof operand === "string" ? "('text')" : "('integer', 'real')");
      return sql`EXISTS (SELECT 1 FROM json_each(${column}) e WHERE e.key = ${field} AND e.type IN ${types}
        AND e.value ${sql.raw(COMPARISONS[operator])} ${boundOperand(operand)})`;
    }
  }
}

/** A number or text to compare with. A bound number would round an integer past 2^53. */
function boundOperand(operand: unknown): SQL {
  const digits = longDigits(operand);
  if (digits === undefined) return sql`${operand}`;
  return fitsInteger(digits) ? sql`CAST(${digits} AS INTEGER)` : sql`CAST(${digits} AS REAL)`;
}

function matchesAny(column: AnyColumn, field: string, operands: unknown[]): SQL {
  if (operands.length === 0) return sql`0`;
  return sql`(${sql.join(
    operands.map((operand) => member(column, field, operand)),
    sql` OR `,
  )})`;
}

// What of an item's value is searched: `index` names its paths, as LangGraph's stores do.

/** `false`: nothing; a list: the texts at these paths (`a.b`, `list[*].text`, `list[0]`, `$`); null: every text in the value. */
export type Index = false | string[] | null | undefined;

export function selectTexts(value: Json, index: Index): string[] {
  if (index === false) return [];
  if (!index) return listStrings(value);
  return index.flatMap((path) => valuesAt(value, steps(path)).flatMap(listStrings));
}

/** A full-text query that matches any of the words, best matches first; undefined when `text` holds no word. */
export function matchAny(text: string): string | undefined {
  const words = text.match(/[\p{L}\p{N}]+/gu)?.slice(0, 50);
  return words?.map((word) => `"${word}"`).join(" OR ");
}

function listStrings(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value === "number") return [String(value)];
  if (isExactNumber(value)) return [value.rawJSON];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(listStrings) : [];
}

function steps(path: string): string[] {
  return path === "$" ? [] : path.replaceAll("[", ".[").split(".").filter(Boolean);
}

function valuesAt(value: unknown, [step, ...rest]: string[]): unknown[] {
  if (step === undefined) return [value];
  if (typeof value !== "object" || value === null) return [];
  if (step === "[*]" || step === "*") return Object.values(value).flatMap((member) => valuesAt(member, rest));
  const index = /^\[(-?\d+)\]$/.exec(step)?.[1];
  if (index !== undefined) return Array.isArray(value) ? valuesAt(value.at(Number(index)), rest) : [];
  return valuesAt((value as Json)[step], rest);
}

// The namespaces that match a list of conditions. `*` in a path matches any one label, except in a literal one.

export interface NamespaceCondition {
  matchType: "prefix" | "suffix";
  path: string[];
  /** `*` is the label `*`. An auth handler judges labels, and one of them may be the identity of a user. */
  literal?: boolean;
}

export interface NamespaceList {
  conditions: NamespaceCondition[];
  maxDepth?: number;
  limit: number;
  offset: number;
}

/** The labels of a prefix condition before its first wildcard: what the database can narrow by. */
export function literalPrefix(conditions: NamespaceCondition[]): string[] {
  const prefix = conditions.find(({ matchType }) => matchType === "prefix");
  const path = prefix?.path ?? [];
  const wildcard = prefix?.literal ? -1 : path.indexOf("*");
  return wildcard === -1 ? path : path.slice(0, wildcard);
}

/** The matching namespaces, cut to `maxDepth` labels, each once, in order. */
export function selectNamespaces(all: string[][], { conditions, maxDepth, limit, offset }: NamespaceList): string[][] {
  const matching = all.filter((namespace) => conditions.every((condition) => matches(namespace, condition)));
  if (maxDepth === undefined) return matching.slice(offset, offset + limit);
  const cut = new Map(matching.map((namespace) => namespace.slice(0, maxDepth)).map((one) => [joinLabels(one), one]));
  return [...cut.values()].slice(offset, offset + limit);
}

function matches(namespace: string[], { matchType, path, literal }: NamespaceCondition): boolean {
  if (path.length > namespace.length) return false;
  const start = matchType === "prefix" ? 0 : namespace.length - path.length;
  return path.every((label, n) => (label === "*" && !literal) || namespace[start + n] === label);
}
