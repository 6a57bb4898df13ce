/** `compare_runs`: what two runs have differently, and the steps below them. */
import { formatFigures, oneLine, type ServerApi, cutValue, type RunFigures, joinLines } from "./api.ts";
import { type ListedTreeRun, readTree } from "./trace.ts";
import * as v from "valibot";
import { isObject } from "../../../lib/json.ts";
import { describe, Uuid, defineTool } from "./tool.ts";

// The steps of two runs side by side.

/** A line for each step: in both runs, only in the first (-), only in the second (+), or with another status (~). */
export function alignSteps(before: ListedTreeRun[], after: ListedTreeRun[]): string[] {
  const length = commonLengths(before, after);
  const lines: string[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    const [old, now] = [before[i], after[j]];
    if (old && now && isSame(old, now)) {
      const isEqual = old.status === now.status;
      lines.push(
        `${isEqual ? " " : "~"} ${alignmentKey(now)} ${formatFigures(old)} → ${formatFigures(now)}  ${now.id}`,
      );
      i++;
      j++;
    } else if (old && (!now || (length[i + 1]?.[j] ?? 0) >= (length[i]?.[j + 1] ?? 0))) {
      lines.push(`- ${alignmentKey(old)} ${formatFigures(old)}  ${old.id}`);
      i++;
    } else if (now) {
      lines.push(`+ ${alignmentKey(now)} ${formatFigures(now)}  ${now.id}`);
      j++;
    }
  }
  return lines;
}

/** The length of the longest common subsequence of what follows each pair of places. */
function commonLengths(before: ListedTreeRun[], after: ListedTreeRun[]): number[][] {
  const length = Array.from({ length: before.length + 1 }, () => after.map(() => 0));
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      const [old, now] = [before[i], after[j]];
      const [row, below] = [length[i], length[i + 1]];
      if (!row || !below || !old || !now) continue;
      row[j] = isSame(old, now) ? (below[j + 1] ?? 0) + 1 : Math.max(below[j] ?? 0, row[j + 1] ?? 0);
    }
  }
  return length;
}

const isSame = (a: ListedTreeRun, b: ListedTreeRun): boolean =>
  a.name === b.name && a.run_type === b.run_type && a.parent_run_ids.length === b.parent_run_ids.length;

const alignmentKey = ({ name, run_type, parent_run_ids }: ListedTreeRun): string =>
  `${"  ".repeat(Math.max(0, parent_run_ids.length - 1))}${oneLine(name, 60)} [${run_type.toLowerCase()}]`;

interface Run extends RunFigures {
  id: string;
  trace_id: string;
  name: string;
  dotted_order: string;
  inputs: unknown;
  outputs: unknown;
  error: string | null;
}

const SELECTS = "trace_id,name,status,latency_seconds,total_tokens,total_cost,dotted_order,inputs,outputs,error";
const MAX_DIFFERENCES = 40;
/** The most values that are compared, so that large payloads take bounded time. */
const MAX_VALUES = 50_000;
const MAX_STEPS = 200;
/** The most characters of each of two values. */
const VALUE = 300;

export const compareRuns = defineTool({
  name: "compare_runs",
  title: "Compare two runs",
  description:
    "Compares two runs, usually the roots of two traces: status, latency, tokens and cost, each value of inputs, outputs and error that differs (JSON Pointer, before and after), and the steps below them: removed (-), added (+) and of another status (~).",
  cost: "reads two runs and at most 200 runs of each of their traces. No model is called.",
  permissions: ["traces.read"],
  input: v.object({
    before: describe(Uuid, "The id of the first run, such as the one that failed."),
    after: describe(Uuid, "The id of the second run."),
  }),
  async run(api, given) {
    const [before, after] = [await readWhole(api, given.before), await readWhole(api, given.after)];
    const [old, now] = [await readSteps(api, before), await readSteps(api, after)];
    const { found, isWhole } = differencesIn(
      { inputs: before.inputs, outputs: before.outputs, error: before.error },
      { inputs: after.inputs, outputs: after.outputs, error: after.error },
    );
    const more = found.length - MAX_DIFFERENCES;
    const lines = [
      `before: ${oneLine(before.name, 60)} (${formatFigures(before)})`,
      `after:  ${oneLine(after.name, 60)} (${formatFigures(after)})`,
      found.length === 0 && isWhole ? "Inputs, outputs and error are equal." : "",
      ...found.slice(0, MAX_DIFFERENCES).map(formatDifference),
      more > 0 ? `… ${more} more differences. Read both with read_run.` : "",
      isWhole ? "" : "… the values are too large to compare them all.",
      "steps:",
      ...alignSteps(old.steps, now.steps),
      old.isWhole && now.isWhole ? "" : `… a trace has more than ${MAX_STEPS} runs: later ones are not compared.`,
    ];
    return joinLines(lines.filter(Boolean), "Read the traces with read_trace.");
  },
});

async function readWhole(api: ServerApi, id: string): Promise<Run> {
  return api.get<Run>(`/api/v2/runs/${id}`, { selects: SELECTS });
}

/** The runs below a run. */
async function readSteps(
  api: ServerApi,
  { trace_id, dotted_order }: Run,
): Promise<{ steps: ListedTreeRun[]; isWhole: boolean }> {
  const { items, next_cursor } = await readTree(api, trace_id, MAX_STEPS);
  const steps = items.filter((step) => step.dotted_order.startsWith(`${dotted_order}.`));
  return { steps, isWhole: next_cursor === null };
}

interface Difference {
  /** A JSON Pointer. */
  path: string;
  old: unknown;
  now: unknown;
}

/** The places in which two JSON values differ. `isWhole` is false where a part was too large to be compared. */
function differencesIn(before: unknown, after: unknown): { found: Difference[]; isWhole: boolean } {
  const found: Difference[] = [];
  const open: Difference[] = [{ path: "", old: before, now: after }];
  let left = MAX_VALUES;
  let isWhole = true;
  for (let next = open.pop(); next; next = open.pop()) {
    const { path, old, now } = next;
    if (old === now) continue;
    if (!isParent(old) || !isParent(now) || Array.isArray(old) !== Array.isArray(now)) {
      found.push(next);
      continue;
    }
    const names = namesIn(old, now, left);
    if (!names) {
      isWhole = false;
      continue;
    }
    left -= names.length;
    for (const name of names.toReversed())
      open.push({
        path: `${path}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`,
        old: readMember(old, name),
        now: readMember(now, name),
      });
  }
  return { found, isWhole };
}

const formatDifference = ({ path, old, now }: Difference): string =>
  `${cutValue(path, VALUE)}\n  before: ${cutValue(old ?? null, VALUE)}\n  after:  ${cutValue(now ?? null, VALUE)}`;

type Parent = Record<string, unknown> | unknown[];

const isParent = (value: unknown): value is Parent => Array.isArray(value) || isObject(value);

const readMember = (value: Parent, name: string): unknown =>
  Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;

/** The names of the members that either has; undefined if they are more than `most`. */
function namesIn(old: Parent, now: Parent, most: number): string[] | undefined {
  if (Array.isArray(old) && Array.isArray(now) && Math.max(old.length, now.length) > most) return undefined;
  const names = [...new Set([...Object.keys(old), ...Object.keys(now)])];
  return names.length > most ? undefined : names;
}
