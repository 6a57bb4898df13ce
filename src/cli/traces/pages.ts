/** Runs of a query, page by page. */
import type { TraceOptions } from "../trace-query.ts";

/** A run as the second generation of queries gives it, with the fields that are selected. */
export interface Run {
  id: string;
  trace_id: string;
  name: string;
  run_type: string;
  status: string;
  start_time: string;
  end_time: string | null;
  latency_seconds: number | null;
  parent_run_ids?: string[];
  dotted_order?: string;
  total_tokens: number;
  total_cost: number | null;
  inputs_preview?: string | null;
  outputs_preview?: string | null;
  error_preview?: string | null;
  inputs?: unknown;
  outputs?: unknown;
  error?: string | null;
}

export const LISTED = `id trace_id name run_type status start_time end_time latency_seconds total_tokens total_cost
  inputs_preview outputs_preview error_preview`.split(/\s+/);

const PAGE = 100;

/** Pages of at most `most` runs. The last one says whether more match. */
export async function* readPages(
  call: TraceOptions["call"],
  query: Record<string, unknown>,
  most: number,
): AsyncGenerator<{ items: Run[]; more: boolean }> {
  let cursor: string | null = null;
  let left = most;
  do {
    const body: Record<string, unknown> = { ...query, page_size: Math.min(left, PAGE), ...(cursor && { cursor }) };
    const page = await call<{ items: Run[]; next_cursor: string | null }>("POST", "/api/v2/runs/query", body);
    cursor = page.next_cursor;
    left -= page.items.length;
    yield { items: page.items, more: cursor !== null };
  } while (cursor !== null && left > 0);
}

/** All of them, for a number that fits in memory. */
export async function gatherRuns(
  call: TraceOptions["call"],
  query: Record<string, unknown>,
  most: number,
): Promise<{ runs: Run[]; more: boolean }> {
  const runs: Run[] = [];
  let more = false;
  for await (const page of readPages(call, query, most)) {
    runs.push(...page.items);
    more = page.more;
  }
  return { runs, more };
}
