/** Reading a page of runs as columns, for exports. */
import { joinPayloads, payloadSql } from "../store/payloads.ts";
import {
  joinTexts,
  layOut,
  type Texts,
  type ChangedRequest,
  isConstant,
  isPayload,
  isUnique,
  type LightField,
  type PageRequest,
  type RunPage,
  type SinceWindow,
} from "../../columns.ts";
import { blobPrefix, payloadKey } from "../../stub.ts";
import { tierSql } from "./condition.ts";
import type { LargePayload, PartitionIdentity, PayloadField } from "../../types.ts";
import { firstInsertedAfter, lastChange, listMovedAcross } from "../store/changes.ts";
import { rawFeedback } from "../feedback.ts";
import { holdsKept } from "../retention.ts";
import { selectionCondition } from "./selection.ts";

// Whole columns of runs, each as one value of SQLite. A row of a query costs an array with a string, or a buffer and its view,
// for each of its columns, and later their collection.

/** A run whose columns are read. No column of it has more bytes than `weight`. */
export interface Weighed {
  n: number;
  weight: number;
}

/** The most bytes of a value. SQLite takes 2 MB, and a part ends after the run that passes this (limits.ts). */
const JOINED_BYTES = 1024 * 1024;

/** Room for the length that precedes each text. */
const ROOM = "'    '";

/**
 * The columns that these SQL expressions on `runs r` and the tables of `joinPayloads` name: `texts` as they are in the database,
 * `light` as JSON arrays.
 */
export function readColumns(
  sql: SqlStorage,
  runs: Weighed[],
  { texts, light }: { texts: string[]; light: string[] },
): { texts: Texts[]; light: string[] } {
  const parts = [...splitRuns(runs)].map((numbers) => readPart(sql, numbers, texts, light));
  return {
    texts: texts.map((_, index) => joinTexts(parts.map((part) => part.texts[index] as Texts))),
    light: light.map((_, index) => `[${parts.map((part) => part.light[index]?.slice(1, -1)).join()}]`),
  };
}

/** The numbers of the runs that are read at once. */
function* splitRuns(runs: Weighed[]): Generator<number[]> {
  let numbers: number[] = [];
  let size = 0;
  for (const { n, weight } of runs) {
    numbers.push(n);
    size += weight;
    if (size < JOINED_BYTES) continue;
    yield numbers;
    numbers = [];
    size = 0;
  }
  if (numbers.length > 0) yield numbers;
}

function readPart(
  sql: SqlStorage,
  numbers: number[],
  texts: string[],
  light: string[],
): { texts: Texts[]; light: string[] } {
  const inner = texts.map((expression, index) => `${expression} AS t${index}`);
  const columns = [
    // As bytes, for JavaScript would make a string of them.
    ...texts.map((_, i) => `CAST(group_concat(${ROOM} || t${i}, '') AS BLOB), json_group_array(octet_length(t${i}))`),
    ...light.map((_, i) => `json_group_array(l${i})`),
  ];
  if (columns.length === 0) return { texts: [], light: [] };
  // LIMIT keeps SQLite from evaluating an expression again at each place of its name.
  const [values = []] = sql
    .exec(
      `SELECT ${columns.join()} FROM (
         SELECT ${[...inner, ...light.map((expression, i) => `${expression} AS l${i}`)].join()}
         FROM json_each(?) k CROSS JOIN runs r ON r.n = k.value ${joinPayloads()} LIMIT -1
       )`,
      JSON.stringify(numbers),
    )
    .raw();
  return {
    texts: texts.map((_, index) => {
      const [joined, lengths] = values.slice(2 * index) as [ArrayBuffer | null, string];
      return layOut(new Uint8Array(joined ?? new ArrayBuffer(0)), JSON.parse(lengths) as (number | null)[]);
    }),
    light: values.slice(2 * texts.length) as string[],
  };
}

/** All other light fields are short. A deep dotted_order or many tags can weigh more than the payloads. */
const WEIGHED: ReadonlySet<string> = new Set(["name", "dotted_order", "parent_run_ids", "tags", "feedback_stats"]);
/** What a run weighs besides, bytes. */
const BASE_BYTES = 300;
/** The most bytes of a byte of text in JSON. */
const ESCAPED_BYTES = 6;

/** One page in the order (start_time, id). Memory is bounded by `maxBytes` and one run. */
export function readPage(sql: SqlStorage, identity: PartitionIdentity, request: PageRequest): RunPage {
  const { fields } = request;
  const payloads = fields.filter(isPayload);
  const unique = fields.filter(isUnique);
  const light = fields.filter(
    (field): field is Exclude<LightField, "feedbacks"> =>
      ![isPayload, isUnique, isConstant].some((has) => has(field)) && field !== "feedbacks",
  );
  const { runs, ...rest } = readRuns(sql, identity, request);
  const hasTiers = fields.includes("trace_tier") && holdsKept(sql);
  const { texts, light: arrays } = readColumns(sql, runs, {
    texts: [...payloads.map(storedHere), ...unique.map((field) => `r.${field}`)],
    light: [...light.map((field) => `r.${field}`), ...(hasTiers ? [tierSql("r", `'${identity.traceTier}'`)] : [])],
  });
  const names = [...light, ...(hasTiers ? ["trace_tier"] : [])];
  return {
    ...rest,
    rows: runs.length,
    constants: { tenant_id: identity.workspaceId, session_id: identity.projectId, trace_tier: identity.traceTier },
    light: { ...rest.light, ...Object.fromEntries(names.map((name, index) => [name, arrays[index]])) },
    payloads: Object.fromEntries(payloads.map((field, index) => [field, texts[index]])),
    unique: Object.fromEntries(unique.map((field, index) => [field, texts[payloads.length + index]])),
  };
}

type Begun = Pick<RunPage, "light" | "large" | "bytes" | "next" | "done" | "changes" | "moved"> & { runs: Weighed[] };

/** Which runs the page has, and what of them is not in the database's columns. */
function readRuns(sql: SqlStorage, identity: PartitionIdentity, request: PageRequest): Begun {
  const payloads = request.fields.filter(isPayload);
  const prefix = blobPrefix(identity.workspaceId, identity);
  const { after, movedSince, skip = [] } = request;
  const moved = after && movedSince !== undefined ? listMovedAcross(sql, after, movedSince) : [];
  const read = moved.flatMap(({ id, wasRead }) => (wasRead ? [id] : []));
  const page: Begun = {
    runs: [],
    light: {},
    large: [],
    bytes: 0,
    next: null,
    done: true,
    changes: lastChange(sql),
    moved,
  };
  const feedbacks: (string | null)[] = [];
  const withFeedback = request.fields.includes("feedbacks");
  for (const [n, bytes, light, large] of selectRows(sql, identity, { ...request, skip: [...skip, ...read] })) {
    if (page.bytes >= request.maxBytes || page.runs.length === request.limit) {
      page.done = false;
      break;
    }
    const elsewhere = large === null ? {} : (JSON.parse(large as string) as { [field: string]: LargePayload });
    for (const field of payloads) {
      const payload = elsewhere[field];
      if (payload) {
        page.large.push({ ...payload, row: page.runs.length, field, key: payloadKey(prefix, payload.hash) });
      }
    }
    let size = BASE_BYTES + (payloads.length > 0 ? (bytes as number) : 0) + (light as number);
    if (withFeedback) {
      const feedback = rawFeedback(sql, readPosition(sql, n as number).id);
      feedbacks.push(feedback);
      size += feedback?.length ?? 0;
    }
    page.runs.push({ n: n as number, weight: (bytes as number) + ESCAPED_BYTES * ((light as number) + BASE_BYTES) });
    page.bytes += size;
  }
  const last = page.runs.at(-1);
  if (last) page.next = readPosition(sql, last.n);
  if (withFeedback) page.light.feedbacks = JSON.stringify(feedbacks);
  return page;
}

function readPosition(sql: SqlStorage, n: number): { start_time: number; id: string } {
  return sql.exec<{ start_time: number; id: string }>("SELECT start_time, id FROM runs WHERE n = ?", n).one();
}

/** A payload as an SQL expression. The database has only a preview of a payload in R2. */
function storedHere(field: PayloadField): string {
  const column = field === "error" ? "r.error" : payloadSql(field);
  return `CASE WHEN p.large IS NULL OR p.large -> '${field}' IS NULL THEN ${column} END`;
}

/**
 * The rows behind `after`, one more than the page may have: number, bytes of payloads, bytes of weighed fields, and payloads in
 * R2. The keys come from the index alone and the join follows their order, so that a filter sorts no payloads. Rows are read
 * lazily.
 */
function selectRows(
  sql: SqlStorage,
  identity: PartitionIdentity,
  { fields, startTime, endTime, filter, after, since, skip = [], limit }: PageRequest,
): Iterable<SqlStorageValue[]> {
  const from = after ? Math.max(startTime, after.start_time) : startTime;
  const condition = selectionCondition(sql, identity, { startTime: from, endTime, filter: filter ?? undefined });
  const changed = changedSince(sql, since);
  const weighed = fields.filter((field) => WEIGHED.has(field));
  const light = ["0", ...weighed.map((field) => `ifnull(octet_length(r.${field}), 0)`)].join(" + ");
  return sql
    .exec(
      `${changed.windows} SELECT r.n, r.bytes, ${light}, p.large FROM (
         SELECT r.n FROM ${changed.runs} ${condition.sql} ${after ? "AND (r.start_time, r.id) > (?, ?)" : ""}
           ${skip.length > 0 ? "AND r.id NOT IN (SELECT value FROM json_each(?))" : ""}
         ORDER BY r.start_time, r.id LIMIT ?
       ) k CROSS JOIN runs r ON r.n = k.n LEFT JOIN payloads p ON p.n = r.n`,
      ...changed.values,
      ...condition.values,
      ...(after ? [after.start_time, after.id] : []),
      ...(skip.length > 0 ? [JSON.stringify(skip)] : []),
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
  const changed = changedSince(sql, [{ startTime, endTime, change: since }]);
  const text = `${changed.windows} SELECT count(*) AS n FROM ${changed.runs} ${condition.sql}`;
  return sql.exec<{ n: number }>(text, ...changed.values, ...condition.values).one().n;
}

/**
 * The runs that have changed in these windows since their changes, or all: SQL up to a condition. The planner would read the
 * whole window for them without the order of the join.
 */
function changedSince(
  sql: SqlStorage,
  since: SinceWindow[] | undefined,
): {
  windows: string;
  runs: string;
  values: [] | [string, number, number];
} {
  if (since === undefined) return { windows: "", runs: "runs r WHERE", values: [] };
  const least = Math.min(...since.map(({ change }) => change));
  return {
    windows: `WITH w AS MATERIALIZED (SELECT value ->> 'startTime' AS start, value ->> 'endTime' AS until,
      value ->> 'change' AS change FROM json_each(?))`,
    runs: `(SELECT n FROM runs WHERE n >= ? UNION
      SELECT n FROM runs INDEXED BY runs_change WHERE change > first_change AND change > ?) c
      CROSS JOIN runs r ON r.n = c.n WHERE EXISTS (
      SELECT 1 FROM w WHERE r.start_time >= w.start AND r.start_time < w.until AND r.change > w.change) AND`,
    values: [JSON.stringify(since), firstInsertedAfter(sql, least), least],
  };
}
