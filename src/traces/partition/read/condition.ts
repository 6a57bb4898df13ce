/**
 * A filter as a SQL condition on the partition's tables, every value a bound parameter. Conditions have two values, never
 * NULL, so that `not` means what it says: a run without an end does not have `gt(latency, 5)`, and has `not(gt(latency, 5))`.
 */
import type { Comparison, Field, PairKind, PairPart, SearchField } from "../../fields.ts";
import { type TraceFilter, isJsonObject, type Json, type PairTest, parseFilter } from "../../filter/filter.ts";
import type { FilterLiteral } from "../../filter/syntax.ts";
import { isExactNumber } from "../../../lib/json.ts";
import { toGlob, isPlainPattern, MAX_PATTERN_BYTES, patternPieces } from "../../filter/values.ts";
import { OF_TRACES, numbersOfIds, OF_IDS } from "../store/ids.ts";
import { joinPayloads, payloadSql } from "../store/payloads.ts";
import { clip, clipSql, MAX_PATH, MAX_VALUE } from "../../text.ts";
import { freshRing, type KeySource, loadRing } from "../../../access/encryption/keys.ts";
import { Problem, toProblem } from "../../../lib/problem.ts";

/** The tier of a run as SQL: that of its project, unless its trace is kept for longer (partition/retention.ts). `tier` is SQL. */
export const tierSql = (runs: string, tier: string): string =>
  `CASE WHEN ${runs}.trace_id IN (SELECT trace_id FROM kept) THEN 'longlived' ELSE ${tier} END`;

export interface Condition {
  sql: string;
  values: (string | number)[];
}

const OPERATORS: Record<Exclude<Comparison, "like">, string> = {
  eq: "IS",
  neq: "IS NOT",
  gt: ">",
  gte: ">=",
  lt: "<",
  lte: "<=",
};

/** What is the same for all runs of a partition, and therefore no column; but for the tier of traces that are kept for longer. */
export interface Constants {
  session_id: string;
  trace_tier: string;
}

/** The condition on a row of `runs` under the given alias. */
export function compileFilter(filter: TraceFilter, alias: string, constants: Constants): Condition {
  const compiler = new Compiler(alias, constants);
  return { sql: compiler.compile(filter), values: compiler.values };
}

type Id = "id" | "trace_id";
const isId = (field: Field): field is Id => field === "id" || field === "trace_id";

class Compiler {
  readonly values: (string | number)[] = [];

  constructor(
    private readonly alias: string,
    private readonly constants: Constants,
  ) {}

  compile(filter: TraceFilter): string {
    switch (filter.op) {
      case "and":
      case "or":
        return joinBalanced(
          filter.args.map((arg) => this.compile(arg)),
          filter.op.toUpperCase(),
        );
      case "not":
        return `(NOT ${this.compile(filter.arg)})`;
      case "compare":
        // A literal, because SQLite does not use a partial index (`runs_failed`) for a bound value.
        if (filter.field === "status" && filter.comparison === "eq" && filter.value === "error")
          return `(${this.alias}.status = 'error')`;
        if (isId(filter.field) && filter.comparison === "eq" && filter.value !== null)
          return this.named(filter.field, [filter.value]);
        return this.test(this.column(filter.field), filter.comparison, filter.value);
      case "in":
        if (isId(filter.field)) return this.named(filter.field, filter.values);
        return this.test(this.column(filter.field), "in", filter.values);
      case "tag":
        return this.tag(filter.tag);
      case "exists":
        return `EXISTS (SELECT 1 FROM json_each(${this.metadata()}) m WHERE m.key = ${this.bind(filter.key)})`;
      case "contains":
        return this.contains(this.metadata(), filter.metadata, 0);
      case "search":
        return this.search(filter.fields, filter.text);
      case "pair":
        return this.pair(filter.kind, filter.tests);
    }
  }

  /** Only some runs are in the indexes of ids and of traces, so a test of the column would read all runs. */
  private named(by: Id, ids: FilterLiteral[]): string {
    this.values.push(JSON.stringify(ids));
    return `(${this.alias}.n IN ${by === "id" ? OF_IDS : OF_TRACES})`;
  }

  /** The list is text that `JSON.stringify` wrote. Looking into the text is much faster than parsing it. */
  private tag(tag: string): string {
    const isThere = `instr(${this.alias}.tags, ${this.bind(JSON.stringify(tag))}) > 0`;
    return `(${isThere} AND EXISTS (SELECT 1 FROM json_each(${this.alias}.tags) t WHERE t.value = ${this.bind(tag)}))`;
  }

  private bind(value: FilterLiteral): string {
    this.values.push(typeof value === "boolean" ? Number(value) : (value ?? ""));
    return "?";
  }

  private metadata(): string {
    return `COALESCE(${this.alias}.metadata, '{}')`;
  }

  private column(field: Field): string {
    if (field === "session_id") return this.bind(this.constants[field]);
    if (field === "trace_tier") return tierSql(this.alias, this.bind(this.constants[field]));
    if (field === "latency") return `max(0, (${this.alias}.end_time - ${this.alias}.start_time) / 1000000.0)`;
    return `${this.alias}.${field}`;
  }

  private test(column: string, operator: PairTest["operator"], value: FilterLiteral | FilterLiteral[]): string {
    if (Array.isArray(value))
      return `COALESCE(${column} IN (SELECT value FROM json_each(${this.bind(JSON.stringify(value))})), 0)`;
    if (operator === "like") return `COALESCE(${this.like(column, String(value))}, 0)`;
    if (operator === "in") return "0";
    if (value === null) return `(${column} ${OPERATORS[operator]} NULL)`;
    const comparison = `(${column} ${OPERATORS[operator]} ${this.bind(value)})`;
    return operator === "eq" || operator === "neq" ? comparison : `COALESCE(${comparison}, 0)`;
  }

  /** Case counts, as in the reference; LIKE would ignore it. */
  private like(column: string, pattern: string): string {
    const pieces = patternPieces(pattern);
    if (!isPlainPattern(pieces)) return `${column} GLOB ${this.bind(toGlob(pieces))}`;
    const text = pieces.map((piece) => (typeof piece === "object" ? piece.text : "")).join("");
    const [open, close] = [pieces[0] === "%", pieces.at(-1) === "%"];
    if (open && close) return `instr(${column}, ${this.bind(text)}) > 0`;
    if (!open && !close) return `${column} = ${this.bind(text)}`;
    // Bytes, because substr of a text ends at U+0000. The same bytes in UTF-8 are the same characters.
    const length = new TextEncoder().encode(text).byteLength;
    const part = open ? `-${length}` : `1, ${length}`;
    return `substr(CAST(${column} AS BLOB), ${part}) = CAST(${this.bind(text)} AS BLOB)`;
  }

  /** Text in any of the fields; the row of payloads is read once, and only if the narrow fields do not have it. */
  private search(fields: readonly SearchField[], text: string): string {
    const lower = (needle: string) => this.bind(needle.replaceAll(/[A-Z]/g, (char) => char.toLowerCase()));
    const contains = (column: string, needle: string) => `instr(lower(COALESCE(${column}, '')), ${lower(needle)}) > 0`;
    const narrow = fields.filter((field) => !isPayload(field)).map((field) => contains(`${this.alias}.${field}`, text));
    const inJson = JSON.stringify(text).slice(1, -1);
    // LIKE compares without making a copy in lower case, which halves the time; but it is for short patterns only.
    const short = !/[%_]/.test(inJson) && new TextEncoder().encode(inJson).byteLength + 2 <= MAX_PATTERN_BYTES;
    const like = (column: string) => `COALESCE(${column}, '') LIKE ${this.bind(`%${inJson}%`)}`;
    const wide = fields.filter(isPayload).map((field) => {
      const column = payloadSql(field, "o");
      return short ? like(column) : contains(column, inJson);
    });
    const payloads = `EXISTS (SELECT 1 FROM ${this.payloads()} AND (${wide.join(" OR ")}))`;
    return `(${[...narrow, ...(wide.length > 0 ? [payloads] : [])].join(" OR ")})`;
  }

  /** Whether a JSON object holds every entry of another, nested objects likewise. */
  private contains(object: string, wanted: { [key: string]: Json }, depth: number): string {
    const alias = `c${depth}`;
    const tests = Object.entries(wanted).map(([key, value]) => {
      const entry = `SELECT 1 FROM json_each(${object}) ${alias} WHERE ${alias}.key = ${this.bind(key)} AND`;
      if (isJsonObject(value)) {
        const nested = `CASE ${alias}.type WHEN 'object' THEN ${alias}.value ELSE '[]' END`;
        return `EXISTS (${entry} ${alias}.type = 'object' AND ${this.contains(nested, value, depth + 1)})`;
      }
      return `EXISTS (${entry} ${this.sameJson(alias, value)})`;
    });
    return tests.length === 0 ? "1" : joinBalanced(tests, "AND");
  }

  private sameJson(alias: string, value: Exclude<Json, { [key: string]: Json }>): string {
    if (value === null || typeof value === "boolean") return `${alias}.type = ${this.bind(String(value))}`;
    if (typeof value === "number")
      return `(${alias}.type IN ('integer', 'real') AND ${alias}.value = ${this.bind(value)})`;
    if (typeof value === "string") return `(${alias}.type = 'text' AND ${alias}.value = ${this.bind(value)})`;
    if (isExactNumber(value))
      return `(${alias}.type = 'integer' AND ${alias}.json -> ${alias}.fullkey = ${this.bind(value.rawJSON)})`;
    return `(${alias}.type = 'array' AND ${alias}.value = ${this.bind(JSON.stringify(value))})`;
  }

  /**
   * One entry that passes every test; or, when all tests are negative, no entry that any of them names:
   * `neq(metadata_key, "k")` is "there is no k", not "there is something besides k".
   */
  private pair(kind: PairKind, tests: PairTest[]): string {
    const { from, parts } = this.entries(kind);
    // Feedback is searched once, not for every run.
    const exists =
      kind === "feedback"
        ? (test: string) => `(${this.alias}.n IN ${numbersOfIds(`SELECT f.run_id AS id FROM ${from} AND ${test}`)})`
        : (test: string) => `EXISTS (SELECT 1 FROM ${from} AND ${test})`;
    const column = (part: PairPart) => parts[part] ?? "NULL";
    if (tests.every(({ operator }) => operator === "neq")) {
      const named = tests.map(({ part, value }) => this.test(column(part), "eq", asKept(kind, part, value)));
      return `(NOT ${exists(joinBalanced(named, "OR"))})`;
    }
    const passed = tests.map(({ part, operator, value }) =>
      this.test(column(part), operator, asKept(kind, part, value)),
    );
    return exists(joinBalanced(passed, "AND"));
  }

  /** The run again, as `o` with its payloads: they are read for runs that pass the other tests. */
  private payloads(join = ""): string {
    return `runs o ${joinPayloads("o")}${join} WHERE o.n = ${this.alias}.n`;
  }

  private entries(kind: PairKind): { from: string; parts: Partial<Record<PairPart, string>> } {
    switch (kind) {
      case "metadata":
        return {
          from: `(SELECT m.key, ${TEXT_OF_MEMBER} AS text FROM json_each(${this.metadata()}) m) e WHERE 1`,
          parts: { key: "e.key", value: clipSql("e.text", MAX_VALUE) },
        };
      case "input":
      case "output":
        return {
          from: this.payloads(`, json_each(${payloadSql(`${kind}_pairs`, "o")}) e`),
          parts: { key: "(e.value ->> 0)", value: "(e.value ->> 1)" },
        };
      case "feedback":
        return {
          from: `feedback f WHERE f.run_id IS NOT NULL`,
          parts: {
            key: "f.key",
            score: "f.score",
            value: clipSql("f.value_text", MAX_VALUE),
            source: "f.source_type",
          },
        };
    }
  }
}

/**
 * A member `m` of json_each as text: a string itself, of anything else its JSON. SQLite prints numbers with 17 digits, so a number
 * is taken from the text of the JSON.
 */
const TEXT_OF_MEMBER = `CASE WHEN m.type IN ('integer', 'real') THEN m.json -> m.fullkey
  WHEN m.type IN ('true', 'false') THEN m.type WHEN m.type = 'null' THEN 'null' ELSE m.value END`;

/** Keys and values are kept up to a length. A longer one is compared as far as it is kept. */
function asKept(
  kind: PairKind,
  part: PairPart,
  value: FilterLiteral | FilterLiteral[],
): FilterLiteral | FilterLiteral[] {
  if (Array.isArray(value)) return value.map((item) => asKept(kind, part, item) as FilterLiteral);
  if (typeof value !== "string") return value;
  const isPayloadKind = kind === "input" || kind === "output";
  if (part === "key") return isPayloadKind ? clip(value, MAX_PATH) : value;
  if (part !== "value" || (!isPayloadKind && value.includes("\0"))) return value;
  return clip(value, MAX_VALUE);
}

function isPayload(field: SearchField): field is "inputs" | "outputs" {
  return field === "inputs" || field === "outputs";
}

/** `a AND (b AND c)` in halves, for SQLite bounds the depth of an expression. */
function joinBalanced(tests: string[], operator: string): string {
  if (tests.length === 1) return tests[0] as string;
  const middle = tests.length >> 1;
  return `(${joinBalanced(tests.slice(0, middle), operator)} ${operator} ${joinBalanced(tests.slice(middle), operator)})`;
}

// Validates filters: their syntax, and the number of values that one SQL statement can bind.

/** The platform binds at most 100 parameters per statement, and a query has some besides its filters. */
const MAX_VALUES = 80;

/** Whether a filter tests what a run was given or said. */
function readsContent(filter: TraceFilter): boolean {
  switch (filter.op) {
    case "and":
    case "or":
      return filter.args.some(readsContent);
    case "not":
      return readsContent(filter.arg);
    case "compare":
    case "in":
      return filter.field === "error";
    case "search":
      return filter.fields.some((field) => field !== "name");
    case "pair":
      return filter.kind === "input" || filter.kind === "output";
    case "tag":
    case "contains":
    case "exists":
      return false;
  }
}

/**
 * 422 for a filter on content in a workspace that encrypts: an answer without the encrypted runs would look complete. The filters
 * must have been checked.
 */
export async function requireReadable(
  env: KeySource,
  workspaceId: string,
  texts: (string | null | undefined)[],
): Promise<void> {
  const fault = await readableFault(env, workspaceId, texts);
  if (fault !== undefined) throw new Problem(422, fault);
}

/**
 * Why filters that were given earlier cannot be applied now; undefined when they can. `isFresh`: no key is overlooked that another
 * isolate has just made.
 */
export async function readableFault(
  env: KeySource,
  workspaceId: string,
  texts: (string | null | undefined)[],
  isFresh = false,
): Promise<string | undefined> {
  try {
    if (!texts.some((text) => text && readsContent(parseFilter(text)))) return undefined;
  } catch (error) {
    return toProblem(error).detail;
  }
  const ring = await (isFresh ? freshRing : loadRing)(env, workspaceId);
  if (!ring.isOn) return undefined;
  return "This workspace encrypts inputs, outputs and errors of traces, so filters cannot read them. Filter by name, metadata, tags or figures.";
}

/**
 * Checks the filters of one query.
 * @throws Problem 400 for a syntax error, or for more than 80 values in all filters. A condition has one value, `search` up to
 * four, and `has(metadata, …)` two for each entry.
 */
export function checkFilters(texts: (string | undefined)[]): void {
  let values = 0;
  for (const text of texts) {
    if (text === undefined) continue;
    values += compileFilter(parseFilter(text), "r", { session_id: "", trace_tier: "longlived" }).values.length;
  }
  if (values > MAX_VALUES) {
    throw new Problem(
      400,
      `Invalid filter: the filters of a query hold at most ${MAX_VALUES} values, and these ${values}.`,
    );
  }
}
