/** A run in one line. */
import { oneLine, formatTime } from "../console.ts";
import type { Run } from "./pages.ts";

/** What a run took and cost. Empty for what is not known. */
export function formatFigures({ latency_seconds: seconds, total_tokens: tokens, total_cost: cost }: Run): string {
  const took = seconds === null ? "" : seconds < 1 ? `${Math.round(seconds * 1_000)} ms` : `${seconds.toFixed(1)} s`;
  return [took, tokens > 0 ? `${tokens} tokens` : "", cost ? `$${cost}` : ""].filter(Boolean).join("  ");
}

/** A run of a list: when it began, how it ended, and how its inputs begin or what it failed with. */
export function formatLine(run: Run): string {
  const { start_time, status, name, id, trace_id, error_preview, inputs_preview } = run;
  const ids = id === trace_id ? trace_id : `${trace_id}  run ${id}`;
  const said = error_preview ? `error: ${error_preview}` : (inputs_preview ?? "");
  const parts = [formatTime(start_time), status.toLowerCase().padEnd(7), ids, oneLine(name, 40), formatFigures(run)];
  return [...parts, oneLine(said, 80)].filter(Boolean).join("  ");
}
