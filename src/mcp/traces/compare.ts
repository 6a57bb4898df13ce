/** `compare_runs`: what two runs have differently, and the steps below them. */
import * as v from "valibot";
import { isObject } from "../../http/json.ts";
import type { Api } from "./api.ts";
import { alignSteps } from "./align.ts";
import { describe, Uuid } from "./fields.ts";
import { cutValue, type Figures, formatFigures, joinLines } from "./text.ts";
import { defineTool } from "./tool.ts";
import { readTree, type TreeRun } from "./trace.ts";

interface Run extends Figures {
  id: string;
  trace_id: string;
  name: string;
  dotted_order: string;
  inputs: unknown;
  outputs: unknown;
  error: string | null;
}

const SELECTS = "trace_id,name,status,latency_seconds,total_tokens,total_cost,dotted_order,inputs,outputs,error";
const MOST_DIFFERENCES = 40;
/** The most values that are compared, so that large payloads take bounded time. */
const MOST_VALUES = 50_000;
const MOST_STEPS = 200;
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
    const differences = (["inputs", "outputs", "error"] as const).flatMap((field) =>
      differencesIn(before[field], after[field], `/${field}`),
    );
    const more = differences.length - MOST_DIFFERENCES;
    const lines = [
      `before: ${before.name} (${formatFigures(before)})`,
      `after:  ${after.name} (${formatFigures(after)})`,
      differences.length === 0 ? "Inputs, outputs and error are equal." : "",
      ...differences.slice(0, MOST_DIFFERENCES),
      more > 0 ? `… ${more} more differences. Read both with read_run.` : "",
      "steps:",
      ...alignSteps(old, now),
    ];
    return joinLines(lines.filter(Boolean), "Read the traces with read_trace.");
  },
});

async function readWhole(api: Api, id: string): Promise<Run> {
  return api.get<Run>(`/api/v2/runs/${id}`, { selects: SELECTS });
}

/** The runs below a run. */
async function readSteps(api: Api, { trace_id, dotted_order }: Run): Promise<TreeRun[]> {
  const { items } = await readTree(api, trace_id, MOST_STEPS);
  return items.filter((step) => step.dotted_order.startsWith(`${dotted_order}.`));
}

/** The places in which two JSON values differ. */
function differencesIn(before: unknown, after: unknown, root: string): string[] {
  const found: string[] = [];
  const open: [before: unknown, after: unknown, path: string][] = [[before, after, root]];
  for (let seen = 0; open.length > 0 && seen < MOST_VALUES; seen++) {
    const [old, now, path] = open.pop() ?? [];
    if (old === now) continue;
    const [inOld, inNow] = [membersOf(old), membersOf(now)];
    if (!inOld || !inNow || Array.isArray(old) !== Array.isArray(now)) {
      found.push(`${path}\n  before: ${cutValue(old ?? null, VALUE)}\n  after:  ${cutValue(now ?? null, VALUE)}`);
      continue;
    }
    const names = [...new Set([...Object.keys(inOld), ...Object.keys(inNow)])];
    for (const name of names.toReversed())
      open.push([inOld[name], inNow[name], `${path}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`]);
  }
  if (open.length > 0) found.push("… the values are too large to compare them all.");
  return found;
}

const membersOf = (value: unknown): Record<string, unknown> | undefined =>
  Array.isArray(value) ? Object.fromEntries(value.entries()) : isObject(value) ? value : undefined;
