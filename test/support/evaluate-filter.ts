/** The filter language evaluated the plain way, over runs in memory: what the SQL must agree with. */
import type { TraceFilter, Json, PairTest } from "../../src/traces/filter/filter.ts";

export interface PlainRun {
  id: string;
  trace_id: string;
  parent_run_id: string | null;
  session_id: string;
  reference_example_id: string | null;
  thread_id: string | null;
  name: string;
  run_type: string;
  status: string;
  error: string | null;
  trace_tier: string;
  dotted_order: string;
  start_time: number;
  end_time: number | null;
  first_token_time: number | null;
  total_tokens: number | null;
  prompt_tokens: number | null;
  completion_tokens: number | null;
  total_cost: number | null;
  prompt_cost: number | null;
  completion_cost: number | null;
  execution_order: number;
  is_root: boolean;
  tags: string[];
  metadata: Record<string, Json>;
  inputs: unknown;
  outputs: unknown;
  feedback: { key: string; score: number | null; value: unknown; source: string }[];
}

type Entry = Partial<Record<PairTest["part"], string | number | null>>;

export function evaluate(filter: TraceFilter, run: PlainRun): boolean {
  switch (filter.op) {
    case "and":
      return filter.args.every((arg) => evaluate(arg, run));
    case "or":
      return filter.args.some((arg) => evaluate(arg, run));
    case "not":
      return !evaluate(filter.arg, run);
    case "compare":
      return test(readValue(run, filter.field), filter.comparison, filter.value);
    case "in":
      return test(readValue(run, filter.field), "in", filter.values);
    case "tag":
      return run.tags.includes(filter.tag);
    case "exists":
      return filter.key in run.metadata;
    case "contains":
      return contains(run.metadata, filter.metadata);
    case "search":
      return filter.fields.some((field) => readText(run, field).toLowerCase().includes(needle(field, filter.text)));
    case "pair":
      return pair(listEntries(run, filter.kind), filter.tests);
  }
}

function readValue(run: PlainRun, field: string): unknown {
  if (field !== "latency") return run[field as keyof PlainRun];
  return run.end_time === null ? null : Math.max(0, run.end_time - run.start_time) / 1e6;
}

function test(actual: unknown, operator: PairTest["operator"], wanted: PairTest["value"]): boolean {
  if (operator === "eq") return actual === wanted;
  if (operator === "neq") return actual !== wanted;
  if (actual === null || actual === undefined) return false;
  if (operator === "in") return (wanted as unknown[]).includes(actual);
  if (operator === "like") return likePattern(String(wanted)).test(actual as string);
  const [a, b] = [actual as number, wanted as number];
  return { gt: a > b, gte: a >= b, lt: a < b, lte: a <= b }[operator];
}

function likePattern(pattern: string): RegExp {
  const source = [...pattern.matchAll(/\\[%_]|[\s\S]/gu)].map(([part]) => {
    if (part === "%") return "[\\s\\S]*";
    if (part === "_") return "[\\s\\S]";
    return part.replace(/^\\(?=[%_])/, "").replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  });
  return new RegExp(`^${source.join("")}$`, "u");
}

function contains(object: { [key: string]: Json }, wanted: { [key: string]: Json }): boolean {
  return Object.entries(wanted).every(([key, value]) => {
    if (!(key in object)) return false;
    const actual = object[key] as Json;
    if (!isObject(value)) return JSON.stringify(actual) === JSON.stringify(value);
    return isObject(actual) && contains(actual, value);
  });
}

function isObject(value: Json): value is { [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function readText(run: PlainRun, field: "inputs" | "outputs" | "error" | "name"): string {
  const value = run[field];
  return field === "inputs" || field === "outputs" ? JSON.stringify(value ?? null) : ((value as string | null) ?? "");
}

function needle(field: string, text: string): string {
  return (field === "inputs" || field === "outputs" ? JSON.stringify(text).slice(1, -1) : text).toLowerCase();
}

function pair(entries: Entry[], tests: PairTest[]): boolean {
  const passes = (entry: Entry, { part, operator, value }: PairTest) => test(entry[part], operator, value);
  if (tests.every(({ operator }) => operator === "neq")) {
    return !entries.some((entry) => tests.some(({ part, value }) => test(entry[part], "eq", value)));
  }
  return entries.some((entry) => tests.every((one) => passes(entry, one)));
}

export function listEntries(run: PlainRun, kind: "metadata" | "input" | "output" | "feedback"): Entry[] {
  const toText = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));
  switch (kind) {
    case "metadata":
      return Object.entries(run.metadata).map(([key, value]) => ({ key, value: toText(value) }));
    case "input":
      return leaves(run.inputs, "").map(([key, value]) => ({ key, value: toText(value) }));
    case "output":
      return leaves(run.outputs, "").map(([key, value]) => ({ key, value: toText(value) }));
    case "feedback":
      return run.feedback.map(({ key, score, value, source }) => ({
        key,
        score,
        value: value === null ? null : toText(value),
        source,
      }));
  }
}

function leaves(value: unknown, path: string): [string, unknown][] {
  if (typeof value !== "object" || value === null) return path === "" ? [] : [[path, value]];
  if (Array.isArray(value)) return value.flatMap((item) => leaves(item, path));
  return Object.entries(value).flatMap(([key, item]) => leaves(item, path === "" ? key : `${path}.${key}`));
}
