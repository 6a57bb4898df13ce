/** Conditions of the filter language: each as the text that a client sends, and as what it means. */
import { isObject, shownOf, textOf, type Value } from "./json.ts";
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
    const root = project.rootOf(run);
    if (kind === "trace_filter") return root !== undefined && holds(root, project);
    return project.treeOf(run).some((one) => holds(one, project));
  });

/** A string of the filter language. */
export const quoted = (text: string): string => JSON.stringify(text);

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

function fieldOf(run: Run, project: Project, field: TextField): string | null {
  const other = {
    run_type: run.runType,
    thread_id: run.threadId,
    trace_id: run.traceId,
    trace_tier: project.readTier(run),
  };
  return field in other ? other[field as keyof typeof other] : run[field as "name" | "status" | "error" | "id"];
}

export const eq = (field: TextField, value: string | null): Condition => ({
  text: `eq(${field}, ${value === null ? "null" : quoted(value)})`,
  holds: (run, project) => fieldOf(run, project, field) === (value?.toWellFormed() ?? null),
});

export const isIn = (field: TextField, values: string[]): Condition => ({
  text: `in(${field}, [${values.map(quoted).join(", ")}])`,
  holds: (run, project) => values.some((value) => eq(field, value).holds(run, project)),
});

/** A text that a field has in its middle. */
export const like = (field: "name" | "error", part: string): Condition => ({
  text: `like(${field}, ${quoted(`%${part.replaceAll(/[%_]/g, "\\$&")}%`)})`,
  holds: (run) => (run[field] ?? "").includes(part.toWellFormed()),
});

export const isRoot: Condition = { text: "eq(is_root, true)", holds: (run) => run.isRoot };

/** Durations are seconds. */
export const latency = (order: keyof typeof ORDERS, seconds: number): Condition => ({
  text: `${order}(latency, ${seconds})`,
  holds: (run) => run.latency !== null && ORDERS[order](run.latency, seconds),
});

export const starts = (order: keyof typeof ORDERS, iso: string, micros: number): Condition => ({
  text: `${order}(start_time, ${quoted(iso)})`,
  holds: (run) => ORDERS[order](run.start, micros),
});

export const hasTag = (tag: string): Condition => ({
  text: `has(tags, ${quoted(tag)})`,
  holds: (run) => run.tags.includes(tag.toWellFormed()),
});

export const hasMetadata = (key: string, value: Value): Condition => ({
  text: `has(metadata, ${quoted(textOf({ [key]: value }))})`,
  holds: ({ metadata }) => Object.hasOwn(metadata, key) && contains(metadata[key] as Value, value),
});

/** Objects hold further members. Anything else is equal. */
const contains = (actual: Value, wanted: Value): boolean =>
  isObject(wanted)
    ? isObject(actual) &&
      Object.entries(wanted).every(([key, item]) => Object.hasOwn(actual, key) && contains(actual[key] as Value, item))
    : textOf(actual) === textOf(wanted);

export const exists = (key: string): Condition => ({
  text: `exists(metadata, ${quoted(key)})`,
  holds: ({ metadata }) => Object.hasOwn(metadata, key),
});

/** An entry of metadata, by key and value. */
export const metadataIs = (key: string, value: Value): Condition => ({
  text: `and(eq(metadata_key, ${quoted(key)}), eq(metadata_value, ${quoted(shownOf(value))}))`,
  holds: ({ metadata }) => Object.hasOwn(metadata, key) && isSame(shownOf(metadata[key] as Value), shownOf(value)),
});

/** Every scalar below a value, with its dotted path. Lists add nothing to the path. */
function leavesOf(value: Value, path = ""): [string, string][] {
  if (Array.isArray(value)) return value.flatMap((item) => leavesOf(item, path));
  if (!isObject(value)) return path === "" ? [] : [[path, shownOf(value)]];
  return Object.entries(value).flatMap(([key, item]) => leavesOf(item, path === "" ? key : `${path}.${key}`));
}

export const entryIs = (of: "input" | "output", path: string, value: string): Condition => ({
  text: `and(eq(${of}_key, ${quoted(path)}), eq(${of}_value, ${quoted(value)}))`,
  holds: (run) => leavesOf(run[`${of}s`]).some(([key, text]) => key === path && isSame(text, value)),
});

/** In lower case, as far as letters are ASCII. */
const lower = (text: string) => text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());

/** Free text, in which the case of ASCII letters does not count. */
export const search = (text: string): Condition => ({
  text: `search(${quoted(text)})`,
  holds: (run) => {
    const wanted = lower(text);
    const inJson = lower(JSON.stringify(text).slice(1, -1));
    const has = (where: string | null, needle: string) => lower(where ?? "").includes(needle);
    const payloads = [run.inputs, run.outputs].map(textOf);
    return payloads.some((json) => has(json, inJson)) || has(run.error, wanted) || has(run.name, wanted);
  },
});

export const feedbackIs = (key: string, order: keyof typeof ORDERS, score: number): Condition => ({
  text: `and(eq(feedback_key, ${quoted(key)}), ${order}(feedback_score, ${score}))`,
  holds: ({ id }, project) =>
    project.feedbackOf(id).some((one) => one.key === key && one.score !== null && ORDERS[order](one.score, score)),
});
