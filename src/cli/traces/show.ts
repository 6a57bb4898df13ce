/** `weir traces show`: a trace as a tree, or one run of it. */
import { readCount } from "../numbers.ts";
import { cutText, indent, oneLine, printJson, formatTime } from "../console.ts";
import { formatFigures } from "./line.ts";
import type { TraceOptions } from "../trace-query.ts";
import { gatherRuns, LISTED, type Run } from "./pages.ts";

const TREE = [...LISTED, "parent_run_ids", "dotted_order"];
const WHOLE = [...LISTED, "inputs", "outputs", "error", "metadata", "tags"];
const VALUES = ["error", "inputs", "outputs"] as const;

export async function showTrace(options: TraceOptions, id: string): Promise<void> {
  const { call, values } = options;
  const chars = readCount("chars", values.chars, 2_000);
  const limit = options.limit(200, 25_000);
  const asked = values.run ?? id;
  const run = await readRun(call, asked, WHOLE);
  if (values.run !== undefined) return values.json ? printJson(run) : console.log(formatRun(run, chars));
  // The id may be that of a run below the root.
  const query = { trace_id: run.trace_id, sort_order: "ASC", selects: TREE };
  const { runs, more } = await gatherRuns(call, query, limit);
  runs.sort((a, b) => ((a.dotted_order ?? "") < (b.dotted_order ?? "") ? -1 : 1));
  if (values.json) return printJson({ trace_id: run.trace_id, runs, more });
  for (const one of runs) console.log(formatBranch(one));
  if (more) console.log(`… more than ${limit} runs. --limit shows more.`);
  const root = run.id === run.trace_id ? run : await readRun(call, run.trace_id, WHOLE);
  console.log(`\n${formatRun(root, chars)}`);
}

async function readRun(call: TraceOptions["call"], id: string, selects: string[]): Promise<Run> {
  return call<Run>("GET", `/api/v2/runs/${encodeURIComponent(id)}?selects=${selects.join(",")}`);
}

/** A run in the tree: one line, and one more for what it failed with. */
function formatBranch(run: Run): string {
  const space = "  ".repeat(run.parent_run_ids?.length ?? 0);
  const { name, run_type, status, id, error_preview } = run;
  const line = [oneLine(name, 60), run_type.toLowerCase(), status.toLowerCase(), formatFigures(run), id];
  const error = error_preview ? `\n${space}    ${oneLine(error_preview, 160)}` : "";
  return `${space}${line.filter(Boolean).join("  ")}${error}`;
}

function formatRun(run: Run, chars: number): string {
  const head = [run.name, run.run_type.toLowerCase(), run.status.toLowerCase(), formatTime(run.start_time)];
  const parts = VALUES.flatMap((field) =>
    run[field] === undefined || run[field] === null ? [] : [`${field}:\n${indent(cutText(run[field], chars), "  ")}`],
  );
  return [oneLine([...head, formatFigures(run), run.id].filter(Boolean).join("  "), 400), ...parts].join("\n");
}
