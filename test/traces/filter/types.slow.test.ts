/** Every field with every kind of value and every operator: what is taken, and which runs it means. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { FIELDS, PAIR_FIELDS } from "../../../src/traces/fields.ts";
import { parseFilter } from "../../../src/traces/filter/filter.ts";
import { FilterProblem } from "../../../src/traces/filter/syntax.ts";
import { listEntries, type PlainRun } from "../../support/evaluate-filter.ts";
import { fillPartition, MIDNIGHT } from "../../support/random-trace-runs.ts";
import { DAY } from "../../support/traces.ts";

type Value = string | number | boolean | null;

const VALUES: Value[] = [
  "Error: boom",
  "u1",
  "good",
  "star_rating",
  "u%",
  "api",
  "true",
  "null",
  "3",
  "2.5s",
  `${DAY}T12:00:00Z`,
  3,
  2.5,
  0,
  true,
  false,
  null,
];
const ORDER = ["gt", "gte", "lt", "lte"];
const OPERATORS = ["eq", "neq", "like", "in", ...ORDER];

const isNumeric = (value: Value) => typeof value === "number" || (typeof value === "string" && /^[\d.]+$/.test(value));

/** The units of what is stored. Undefined: the field does not take the value. */
const UNITS: Record<string, (value: NonNullable<Value>) => Value | undefined> = {
  id: (value) => (typeof value === "string" ? value.toLowerCase() : undefined),
  text: (value) => (typeof value === "string" ? value : undefined),
  value: (value) => String(value),
  boolean: (value) => (typeof value === "boolean" ? value : undefined),
  number: (value) => (isNumeric(value) ? Number(value) : undefined),
  duration: (value) => (isNumeric(value) ? Number(value) : value === "2.5s" ? 2.5 : undefined),
  time: (value) => (value === `${DAY}T12:00:00Z` ? MIDNIGHT + 43_200_000_000 : undefined),
};
const SET = ["eq", "neq", "in", "like"];
const TAKEN: Record<string, string[]> = {
  id: ["eq", "neq", "in"],
  text: SET,
  value: SET,
  boolean: ["eq", "neq"],
  number: ["eq", "neq", "in", ...ORDER],
  duration: ["eq", "neq", ...ORDER],
  time: ["eq", "neq", ...ORDER],
};
const PARTS = { key: "text", value: "value", source: "text", score: "number" };

/** The value in units, "error" for whether there is one, or undefined for a fault. */
function read(type: string, part: string | undefined, operator: string, value: Value): Value | undefined {
  const operators = part === "source" ? ["eq", "neq", "in"] : (TAKEN[type] ?? []);
  if (!operators.includes(operator)) return undefined;
  if (value === null) return operator === "eq" || operator === "neq" ? null : undefined;
  if (operator === "like" && typeof value !== "string") return undefined;
  return UNITS[type]?.(value);
}

function compare(actual: unknown, operator: string, value: Value): boolean {
  if (operator === "eq" || operator === "in") return actual === value;
  if (operator === "neq") return actual !== value;
  if (actual === null || actual === undefined || value === null) return false;
  if (operator === "like") return value === "u%" ? (actual as string).startsWith("u") : actual === value;
  if (operator === "gt") return actual > value;
  if (operator === "gte") return actual >= value;
  return operator === "lt" ? actual < value : actual <= value;
}

const readField = (run: PlainRun, field: string): unknown =>
  field === "latency"
    ? run.end_time === null
      ? null
      : Math.max(0, run.end_time - run.start_time) / 1e6
    : run[field as keyof PlainRun];

/** Which runs a comparison means; undefined when the field does not take it. */
function explain(field: string, operator: string, value: Value): ((run: PlainRun) => boolean) | undefined {
  if (field === "error" && typeof value === "boolean") {
    if (operator === "eq") return (run) => (run.error !== null) === value;
    return operator === "neq" ? (run) => (run.error !== null) !== value : undefined;
  }
  const entry = PAIR_FIELDS[field as keyof typeof PAIR_FIELDS];
  const known = FIELDS[field as keyof typeof FIELDS];
  const type = entry ? PARTS[entry.part] : known === "error" ? "text" : known;
  const literal = read(type, entry?.part, operator, value);
  if (literal === undefined) return undefined;
  if (!entry) return (run) => compare(readField(run, field), operator, literal);
  const own = literal === null && entry.part === "value" && entry.kind !== "feedback" ? "null" : literal;
  const some = (run: PlainRun, one: string) =>
    listEntries(run, entry.kind).some((item) => compare(item[entry.part], one, own));
  return operator === "neq" ? (run) => !some(run, "eq") : (run) => some(run, operator);
}

function isFault(filter: string): boolean {
  try {
    parseFilter(filter);
    return false;
  } catch (error) {
    return error instanceof FilterProblem;
  }
}

it("a comparison is a fault that says what the field takes, or finds what it means", async () => {
  const { identity, partition, runs } = await fillPartition();
  const [found, faults] = [[] as string[], [] as string[]];
  const answers = new Map<string, { ids: string[]; expected: string[] }>();
  for (const field of [...Object.keys(FIELDS), ...Object.keys(PAIR_FIELDS)]) {
    for (const operator of OPERATORS) {
      for (const value of VALUES) {
        const written = JSON.stringify(value);
        const filter = `${operator}(${field}, ${operator === "in" ? `[${written}]` : written})`;
        const passes = explain(field, operator, value);
        if (!passes) {
          faults.push(filter);
          continue;
        }
        const expected = runs.filter(passes).map(({ id }) => id);
        answers.set(filter, { ids: [], expected: expected.sort() });
      }
    }
  }
  expect(faults.filter((filter) => !isFault(filter))).toEqual([]);
  // Inside the object: hundreds of calls over RPC take seconds.
  const name = `${identity.workspaceId}/${identity.projectId}/${DAY}`;
  await runInDurableObject(env.TRACE_PARTITION.getByName(name), async (object) => {
    const request = { order: "asc" as const, after: null, limit: 1000, maxBytes: 1e9, payloads: [] };
    for (const [filter, answer] of answers) {
      const page = await (object as unknown as typeof partition).query({ ...request, filter });
      answer.ids = page.runs.map(({ id }) => id).sort();
    }
  });
  for (const [filter, { ids, expected }] of answers) {
    expect({ filter, ids }).toEqual({ filter, ids: expected });
    if (ids.length > 0 && ids.length < runs.length) found.push(filter);
  }
  expect(faults.length).toBeGreaterThan(1_000);
  expect(found).toEqual(
    expect.arrayContaining(["eq(error, true)", "neq(error, true)", "eq(metadata_value, null)", "eq(is_root, false)"]),
  );
  expect(found.length).toBeGreaterThan(150);
});

it.each([
  ["eq(name, true)", "name takes a text in quotes"],
  ["eq(status, 5)", "status takes a text in quotes"],
  ["eq(error, 5)", "error takes a text in quotes, true, false or null"],
  ["in(error, [true])", "error goes with true and false in eq and neq only"],
  ['eq(is_root, "true")', "is_root takes true or false"],
  ["eq(thread_id, 5)", "thread_id takes a text in quotes"],
  ["eq(feedback_score, true)", "feedback_score takes a number"],
  ["gt(start_time, 5)", 'start_time takes a time such as "2026-11-20T15:49:54Z"'],
  ["like(metadata_value, 5)", "like takes a pattern in quotes"],
])("%s: %s", (filter, message) => {
  expect(() => parseFilter(filter)).toThrow(`Invalid filter: ${message} at position`);
});
