/** Conditions of the filter language: each as the text that a client sends, and as what it means. */
import { isObject, showValue, toText, type Value } from "./json.ts";
import type { Project } from "./model.ts";
import type { Run } from "./run.ts";

export interface Condition {
  text: string;
  holds: (run: Run, project: Project) => boolean;
}

/** What a condition is about: a run, the root of its trace, or any run of its trace. */
export type FilterKind = "filter" | "trace_filter" | "tree_filter";

/** The runs that a condition selects, newest first. */
export const selectedBy = ({ holds }: Condition, kind: FilterKind, project: Project): Run[] =>
  project.runs.filter((run) => {
    if (kind === "filter") return holds(run, project);
    const root = project.findRoot(run);
    if (kind === "trace_filter") return root !== undefined && holds(root, project);
    return project.listTree(run).some((one) => holds(one, project));
  });

/** Whether a filter reads inputs, outputs or errors, which a workspace that encrypts refuses. */
export const readsContents = (text: string): boolean =>
  /\b(search\(|error\b|(input|output)_(key|value)\b)/.test(text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""'));

/** A string of the filter language. */
export const quoteText = (text: string): string => JSON.stringify(text);

/** Values of entries are kept up to this many characters. */
const KEPT = 250;
const isSame = (a: string, b: string) => a.slice(0, KEPT) === b.slice(0, KEPT);

const ORDERS = {
  gt: (a: number, b: number) => a > b,
  gte: (a: number, b: number) => a >= b,
  lt: (a: number, b: number) => a < b,
  lte: (a: number, b: number) => a <= b,
};

export const and = (...parts: Condition[]): Condition => ({
  text: `and(${parts.map(({ text }) => text).join(", ")})`,
  holds: (run, project) => parts.every((part) => part.holds(run, project)),
});

export const or = (...parts: Condition[]): Condition => ({
  text: `or(${parts.map(({ text }) => text).join(", ")})`,
  holds: (run, project) => parts.some((part) => part.holds(run, project)),
});

export const not = (part: Condition): Condition => ({
  text: `not(${part.text})`,
  holds: (run, project) => !part.holds(run, project),
});

type TextField = "name" | "run_type" | "status" | "error" | "thread_id" | "id" | "trace_id" | "trace_tier";

function readField(run: Run, project: Project, field: TextField): string | null {
  const other = {
    run_type: run.runType,
    thread_id: run.threadId,
    trace_id: run.traceId,
    trace_tier: project.readTier(run),
  };
  return field in other ? other[field as keyof typeof other] : run[field as "name" | "status" | "error" | "id"];
}

export const eq = (field: TextField, value: string | null): Condition => ({
  text: `eq(${field}, ${value === null ? "null" : quoteText(value)})`,
  holds: (run, project) => readField(run, project, field) === (value?.toWellFormed() ?? null),
});

export const isIn = (field: TextField, values: string[]): Condition => ({
  text: `in(${field}, [${values.map(quoteText).join(", ")}])`,
  holds: (run, project) => values.some((value) => eq(field, value).holds(run, project)),
});

/** A text that a field has in its middle. */
export const like = (field: "name" | "error", part: string): Condition => ({
  text: `like(${field}, ${quoteText(`%${part.replaceAll(/[%_]/g, "\\$&")}%`)})`,
  holds: (run) => (run[field] ?? "").includes(part.toWellFormed()),
});

export const isRoot: Condition = { text: "eq(is_root, true)", holds: (run) => run.isRoot };

/** Durations are seconds. */
export const latency = (order: keyof typeof ORDERS, seconds: number): Condition => ({
  text: `${order}(latency, ${seconds})`,
  holds: (run) => run.latency !== null && ORDERS[order](run.latency, seconds),
});

export const starts = (order: keyof typeof ORDERS, iso: string, micros: number): Condition => ({
  text: `${order}(start_time, ${quoteText(iso)})`,
  holds: (run) => ORDERS[order](run.start, micros),
});

export const hasTag = (tag: string): Condition => ({
  text: `has(tags, ${quoteText(tag)})`,
  holds: (run) => run.tags.includes(tag.toWellFormed()),
});

export const hasMetadata = (key: string, value: Value): Condition => ({
  text: `has(metadata, ${quoteText(toText({ [key]: value }))})`,
  holds: ({ metadata }) => Object.hasOwn(metadata, key) && contains(metadata[key] as Value, value),
});

/** Objects hold further members. Anything else is equal. */
const contains = (actual: Value, wanted: Value): boolean =>
  isObject(wanted)
    ? isObject(actual) &&
      Object.entries(wanted).every(([key, item]) => Object.hasOwn(actual, key) && contains(actual[key] as Value, item))
    : toText(actual) === toText(wanted);

export const exists = (key: string): Condition => ({
  text: `exists(metadata, ${quoteText(key)})`,
  holds: ({ metadata }) => Object.hasOwn(metadata, key),
});

/** An entry of metadata, by key and value. */
export const metadataIs = (key: string, value: Value): Condition => ({
  text: `and(eq(metadata_key, ${quoteText(key)}), eq(metadata_value, ${quoteText(showValue(value))}))`,
  holds: ({ metadata }) => Object.hasOwn(metadata, key) && isSame(showValue(metadata[key] as Value), showValue(value)),
});

/** Every scalar below a value, with its dotted path. Lists add nothing to the path. */
function listLeaves(value: Value, path = ""): [string, string][] {
  if (Array.isArray(value)) return value.flatMap((item) => listLeaves(item, path));
  if (!isObject(value)) return path === "" ? [] : [[path, showValue(value)]];
  return Object.entries(value).flatMap(([key, item]) => listLeaves(item, path === "" ? key : `${path}.${key}`));
}

export const entryIs = (of: "input" | "output", path: string, value: string): Condition => ({
  text: `and(eq(${of}_key, ${quoteText(path)}), eq(${of}_value, ${quoteText(value)}))`,
  holds: (run) => listLeaves(run[`${of}s`]).some(([key, text]) => key === path && isSame(text, value)),
});

/** In lower case, as far as letters are ASCII. */
const toLower = (text: string) => text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());

/** Free text, in which the case of ASCII letters does not count. */
export const search = (text: string): Condition => ({
  text: `search(${quoteText(text)})`,
  holds: (run) => {
    const wanted = toLower(text);
    const inJson = toLower(JSON.stringify(text).slice(1, -1));
    const includesText = (where: string | null, needle: string) => toLower(where ?? "").includes(needle);
    const payloads = [run.inputs, run.outputs].map(toText);
    return (
      payloads.some((json) => includesText(json, inJson)) ||
      includesText(run.error, wanted) ||
      includesText(run.name, wanted)
    );
  },
});

export const feedbackIs = (key: string, order: keyof typeof ORDERS, score: number): Condition => ({
  text: `and(eq(feedback_key, ${quoteText(key)}), ${order}(feedback_score, ${score}))`,
  holds: ({ id }, project) =>
    project.listFeedback(id).some((one) => one.key === key && one.score !== null && ORDERS[order](one.score, score)),
});
