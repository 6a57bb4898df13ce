/** A row of the tables as queries answer it. */
import type { TraceTier } from "../projects/table.ts";
import type { LargeField, LargePayload, PartitionIdentity, QueriedRun } from "../types.ts";
import type { PayloadRow, RunRow } from "./store/tables.ts";

export type Row = RunRow & Partial<PayloadRow> & { trace_tier: TraceTier };

/** The run with these of its payloads. Of a payload in R2 it has the preview, and where the payload is. */
export function queriedRun(row: Row, identity: PartitionIdentity, fields: LargeField[]): QueriedRun {
  const large = row.large ? (JSON.parse(row.large) as Partial<Record<LargeField, LargePayload>>) : {};
  const wanted = Object.fromEntries(Object.entries(large).filter(([field]) => fields.includes(field as LargeField)));
  const payload = (field: LargeField) => (large[field] || !fields.includes(field) ? null : (row[field] ?? null));
  return {
    id: row.id,
    tenant_id: identity.workspaceId,
    session_id: identity.projectId,
    shard: identity.shard,
    trace_id: row.trace_id,
    parent_run_id: row.parent_run_id,
    parent_run_ids: JSON.parse(row.parent_run_ids) as string[],
    reference_example_id: row.reference_example_id,
    name: row.name,
    run_type: row.run_type,
    start_time: row.start_time,
    end_time: row.end_time,
    status: row.status,
    is_root: row.is_root === 1,
    dotted_order: row.dotted_order,
    trace_tier: row.trace_tier,
    inputs: payload("inputs"),
    outputs: payload("outputs"),
    error: payload("error"),
    extra: payload("extra"),
    events: payload("events"),
    tags: JSON.parse(row.tags) as string[],
    feedback_stats: row.feedback_stats,
    total_tokens: row.total_tokens,
    prompt_tokens: row.prompt_tokens,
    completion_tokens: row.completion_tokens,
    total_cost: row.total_cost,
    prompt_cost: row.prompt_cost,
    completion_cost: row.completion_cost,
    first_token_time: row.first_token_time,
    ...(Object.keys(wanted).length > 0 ? { large: wanted, previews: readPreviews(row, wanted) } : {}),
    thread_id: row.thread_id,
    execution_order: row.execution_order,
    serialized: payload("serialized"),
    usage_details: row.usage_details,
    attachments: row.attachments ? (JSON.parse(row.attachments) as QueriedRun["attachments"]) : [],
  };
}

function readPreviews(row: Row, large: object): QueriedRun["previews"] {
  return Object.fromEntries(Object.keys(large).map((field) => [field, row[field as LargeField] ?? ""]));
}
