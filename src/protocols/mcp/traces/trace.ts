/** `read_trace`: a trace as a compact tree. */
import * as v from "valibot";
import { Problem } from "../../../lib/problem.ts";
import type { Api } from "./api.ts";
import { between, describe, Text, Uuid } from "../../../mcp/traces/fields.ts";
import { type Figures, formatFigures, joinLines, oneLine } from "../../../mcp/traces/text.ts";
import { defineTool } from "./tool.ts";

export interface TreeRun extends Figures {
  id: string;
  name: string;
  run_type: string;
  dotted_order: string;
  parent_run_ids: string[];
  inputs_preview: string | null;
  outputs_preview: string | null;
  error_preview: string | null;
}

export interface TreePage {
  items: TreeRun[];
  next_cursor: string | null;
}

const SELECTS = `name run_type status latency_seconds total_tokens total_cost dotted_order parent_run_ids inputs_preview
  outputs_preview error_preview`.split(/\s+/);

export const readTrace = defineTool({
  name: "read_trace",
  title: "Read a trace",
  description:
    "Reads a trace as a tree: for each run its name, type, status, figures and id, and how its inputs, outputs and error begin. Runs that failed are marked with !. Read the whole of one run with read_run.",
  cost: "reads the runs of one trace, at most max_runs of them. No model is called.",
  permissions: ["traces.read"],
  input: v.object({
    trace_id: describe(Uuid, "The id of the trace."),
    max_runs: v.optional(between(1, 300), 100),
    preview: v.optional(describe(between(0, 300), "The most characters of each beginning."), 120),
    cursor: v.optional(describe(Text, "Continues the result that gave it.")),
  }),
  async run(api, { trace_id, max_runs, preview, cursor }) {
    const { items, next_cursor } = await readTree(api, trace_id, max_runs, cursor);
    if (items.length === 0)
      throw new Problem(404, "Trace not found. A run of this server is stored some seconds after its end.");
    const more = next_cursor ? `\nThere are more runs: cursor ${next_cursor}` : "";
    return (
      joinLines(
        items.map((run) => formatBranch(run, preview)),
        "Use a smaller preview or max_runs.",
      ) + more
    );
  },
});

/** Runs of a trace in the order of its tree. */
export async function readTree(api: Api, traceId: string, most: number, cursor?: string): Promise<TreePage> {
  const page = await api.query<TreePage>("/api/v2/runs/query", {
    trace_id: traceId,
    page_size: most,
    sort_order: "ASC",
    selects: SELECTS,
    ...(cursor !== undefined && { cursor }),
  });
  page.items.sort((a, b) => (a.dotted_order < b.dotted_order ? -1 : 1));
  return page;
}

function formatBranch(run: TreeRun, preview: number): string {
  const indent = "  ".repeat(run.parent_run_ids.length);
  const mark = run.error_preview || run.status.toLowerCase() === "error" ? "! " : "";
  const head = `${indent}${mark}${oneLine(run.name, 60)} [${run.run_type.toLowerCase()}] ${formatFigures(run)}  ${run.id}`;
  if (preview === 0) return head;
  const shown = (["error", "inputs", "outputs"] as const).flatMap((field) => {
    const text = run[`${field}_preview`];
    return text ? `${indent}    ${field}: ${oneLine(text, preview)}` : [];
  });
  return [head, ...shown].join("\n");
}
