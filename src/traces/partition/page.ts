/** Reading a page of runs as columns, for exports. */
import {
  type ConstantField,
  isConstant,
  isPayload,
  type LightField,
  type ChangedRequest,
  type PageRequest,
  type RunPage,
  type SinceWindow,
  TextsBuilder,
} from "../page.ts";
import { joinPayloads, payloadOf } from "../packs.ts";
import { blobPrefix, payloadKey } from "../stub.ts";
import type { LargePayload, PartitionIdentity, PayloadField } from "../types.ts";
import { lastChange } from "./changes.ts";
import { rawFeedback } from "./feedback.ts";
import { selectionCondition } from "./read.ts";

/** The columns that every page reads, before the requested ones. */
const OWN = ["r.start_time", "r.id", "r.bytes", "p.large"];
/** What a run weighs besides its texts, bytes. */
const BASE_BYTES = 200;

/** One page in the order (start_time, id). Memory is bounded by `maxBytes` and one run. */
export function readPage(sql: SqlStorage, identity: PartitionIdentity, request: PageRequest): RunPage {
  const payloads = request.fields.filter(isPayload);
  const light = request.fields.filter(
    (field): field is LightField => !isPayload(field) && !isConstant(field) && field !== "feedbacks",
  );
  const constants: Record<ConstantField, string> = {
    tenant_id: identity.workspaceId,
    session_id: identity.projectId,
    trace_tier: identity.traceTier,
  };
  const prefix = blobPrefix(identity.workspaceId, identity);
  const page: RunPage = {
    rows: 0,
    constants,
    light: {},
    payloads: {},
    large: [],
    bytes: 0,
    next: null,
    done: true,
    changes: lastChange(sql),
  };
  const lightColumns = light.map((): (string | number | null)[] => []);
  const feedbacks: (string | null)[] = [];
  const withFeedback = request.fields.includes("feedbacks");
  const builders = payloads.map(() => new TextsBuilder());
  for (const [startTime, id, bytes, large, ...values] of rowsOf(sql, identity, request, light, payloads)) {
    if (page.bytes >= request.maxBytes || page.rows === request.limit) {
      page.done = false;
      break;
    }
    const elsewhere = large === null ? {} : (JSON.parse(large as string) as { [field: string]: LargePayload });
    let size = BASE_BYTES + (payloads.length > 0 ? (bytes as number) : 0);
    lightColumns.forEach((column, index) => {
      const value = values[index] as string | number | null;
      column.push(value);
      // A deep dotted_order or many tags can weigh more than the payloads.
      if (typeof value === "string") size += value.length;
    });
    builders.forEach((builder, index) => {
      const field = payloads[index] as PayloadField;
      const payload = elsewhere[field];
      const text = values[light.length + index] as ArrayBuffer | null;
      // The row has only a preview of the payload in R2.
      builder.add(payload || text === null ? null : new Uint8Array(text), true);
      if (payload) {
        page.large.push({ ...payload, row: page.rows, field, key: payloadKey(prefix, payload.hash) });
      }
    });
    if (withFeedback) {
      const feedback = rawFeedback(sql, id as string);
      feedbacks.push(feedback);
      size += feedback?.length ?? 0;
    }
    page.rows++;
    page.bytes += size;
    page.next = { start_time: startTime as number, id: id as string };
  }
  light.forEach((field, index) => (page.light[field] = lightColumns[index]));
  payloads.forEach((field, index) => (page.payloads[field] = builders[index]?.build()));
  if (withFeedback) page.light.feedbacks = feedbacks;
  return page;
}

/**
 * The rows behind `after`, one more than the page may have. The keys come from the index alone and the join follows their
 * order, so that a filter sorts no payloads. Rows are read lazily.
 */
function rowsOf(
  sql: SqlStorage,
  identity: PartitionIdentity,
  { startTime, endTime, filter, after, since, limit }: PageRequest,
  light: LightField[],
  payloads: PayloadField[],
): Iterable<SqlStorageValue[]> {
  const from = after ? Math.max(startTime, after.start_time) : startTime;
  const condition = selectionCondition(sql, identity, { startTime: from, endTime, filter: filter ?? undefined });
  const changed = changedSince(since);
  const columns = [
    ...OWN,
    ...light.map((field) => `r.${field}`),
    // Bytes as stored in the database. They are copied to the file without a conversion to strings.
    ...payloads.map((field) => `CAST(${field === "error" ? "r.error" : payloadOf(field)} AS BLOB)`),
  ];
  return sql
    .exec(
      `${changed.windows} SELECT ${columns.join(", ")} FROM (
         SELECT r.n FROM ${changed.runs} ${condition.sql} ${after ? "AND (r.start_time, r.id) > (?, ?)" : ""}
         ORDER BY r.start_time, r.id LIMIT ?
       ) k CROSS JOIN runs r ON r.n = k.n ${joinPayloads()}`,
      ...changed.values,
      ...condition.values,
      ...(after ? [after.start_time, after.id] : []),
      limit + 1,
    )
    .raw();
}

/** How many runs of the window have changed after a change. */
export function countChanged(
  sql: SqlStorage,
  identity: PartitionIdentity,
  { since, startTime, endTime, filter }: ChangedRequest,
): number {
  const condition = selectionCondition(sql, identity, { startTime, endTime, filter: filter ?? undefined });
  const changed = changedSince([{ startTime, endTime, change: since }]);
  const text = `${changed.windows} SELECT count(*) AS n FROM ${changed.runs} ${condition.sql}`;
  return sql.exec<{ n: number }>(text, ...changed.values, ...condition.values).one().n;
}

/**
 * The runs that have changed in these windows since their changes, or all: SQL up to a condition. The planner would read the
 * whole window for them without the name of the index.
 */
function changedSince(since: SinceWindow[] | undefined): {
  windows: string;
  runs: string;
  values: [] | [string, number];
} {
  if (since === undefined) return { windows: "", runs: "runs r WHERE", values: [] };
  return {
    windows: `WITH w AS MATERIALIZED (SELECT value ->> 'startTime' AS start, value ->> 'endTime' AS until,
      value ->> 'change' AS change FROM json_each(?))`,
    runs: `runs r INDEXED BY runs_change WHERE r.change > 0 AND r.change > ? AND EXISTS (
      SELECT 1 FROM w WHERE r.start_time >= w.start AND r.start_time < w.until AND r.change > w.change) AND`,
    values: [JSON.stringify(since), Math.min(...since.map(({ change }) => change))],
  };
}
