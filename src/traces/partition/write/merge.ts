/** Merging a write into a run, so that the order and the number of arrivals do not matter. */
import { byteLength } from "../../../lib/bytes.ts";
import { parseExact } from "../../../lib/json.ts";
import { parseDotted, segment } from "../../time.ts";
import { isSealedExtra, listExtras, mergeExtras } from "../../encryption.ts";
import { metadataText } from "../../text.ts";
import { ATTACHMENTS_BYTES, JOINED_EXTRA_BYTES } from "../../limits.ts";
import { addCost, type PriceTable } from "../../../limits/prices/prices.ts";
import { type LargeField, type LargePayload, MODEL_RUNS, type PayloadWrite, type RunWrite } from "../../types.ts";
import { type Usage, addUsage } from "../../../limits/prices/usage.ts";
import type { RunRow, WholeRow } from "../store/tables.ts";
import { isTimed, OF_TRACES, OF_IDS } from "../store/ids.ts";

/** The fields that a patch protects from a late post, one bit each. New ones go to the end. */
const FIELDS = [
  "trace_id",
  "parent_run_id",
  "dotted_order",
  "name",
  "run_type",
  "start_time",
  "end_time",
  "first_token_time",
  "tags",
  "reference_example_id",
  "execution_order",
  "inputs",
  "outputs",
  "error",
  "extra",
  "events",
  "serialized",
  "usage",
] as const;

type Field = (typeof FIELDS)[number];

/** A bit beside those of `FIELDS`: a post or a patch has stated the start, so that of a dotted_order does not count. */
const STATED_START = 1 << 30;

/** The day's bounds (microseconds), because a run's start_time must be within its partition's day. */
export interface Day {
  start: number;
  end: number;
}

/** An empty run, to merge the first write into. */
export function emptyRow(id: string, start: number): WholeRow {
  return {
    n: 0,
    id,
    trace_id: "",
    parent_run_id: null,
    parent_run_ids: "[]",
    dotted_order: "",
    placed: 0,
    name: "Unnamed",
    run_type: "chain",
    start_time: start,
    end_time: null,
    first_token_time: null,
    status: "pending",
    is_root: 1,
    error: null,
    tags: "[]",
    metadata: null,
    thread_id: null,
    reference_example_id: null,
    execution_order: 1,
    usage: null,
    total_tokens: null,
    prompt_tokens: null,
    completion_tokens: null,
    total_cost: null,
    prompt_cost: null,
    completion_cost: null,
    usage_details: null,
    feedback_stats: null,
    patched: 0,
    bytes: 0,
    change: 0,
    followers: 0,
    first_change: 0,
    timed: 0,
    spends: 0,
    inputs: null,
    outputs: null,
    extra: null,
    events: null,
    serialized: null,
    input_pairs: null,
    output_pairs: null,
    large: null,
    attachments: null,
  };
}

/** The run after a write. The row given is changed and returned. */
export function mergeRun(row: WholeRow, write: RunWrite, day: Day): WholeRow {
  const wins = (field: Field) => {
    const bit = 1 << FIELDS.indexOf(field);
    if (write.kind === "post") return (row.patched & bit) === 0;
    row.patched |= bit;
    return true;
  };
  const take = <T>(field: Field, value: T | undefined, set: (value: T) => void) => {
    if (value !== undefined && wins(field)) set(value);
  };
  take("trace_id", write.trace_id, (value) => (row.trace_id = value));
  take("parent_run_id", write.parent_run_id, (value) => (row.parent_run_id = value));
  take("dotted_order", write.dotted_order, (value) => {
    row.dotted_order = value;
    row.placed = 1;
  });
  if (write.is_root === true && row.placed === 0) row.placed = 2;
  take("name", write.name, (value) => (row.name = value));
  take("run_type", write.run_type, (value) => (row.run_type = value));
  if (write.start_time !== undefined && write.start_time >= day.start && write.start_time < day.end) {
    if (write.start_is_derived !== true) {
      take("start_time", write.start_time, (value) => (row.start_time = value));
      row.patched |= STATED_START;
    } else if ((row.patched & STATED_START) === 0 && row.dotted_order === write.dotted_order) {
      row.start_time = write.start_time;
    }
  }
  take("end_time", write.end_time, (value) => (row.end_time = value));
  take("first_token_time", write.first_token_time, (value) => (row.first_token_time = value));
  take("tags", write.tags, (value) => (row.tags = JSON.stringify(value)));
  take("reference_example_id", write.reference_example_id, (value) => (row.reference_example_id = value));
  take("execution_order", write.execution_order, (value) => (row.execution_order = value));
  take("usage", write.usage, (value) => (row.usage = JSON.stringify(value)));
  mergePayloads(row, write, wins);
  if (write.attachments) row.attachments = mergeAttachments(row.attachments, write.attachments);
  derive(row);
  return row;
}

function mergePayloads(row: WholeRow, write: RunWrite, wins: (field: Field) => boolean): void {
  if (write.inputs && !isLessComplete(row.inputs, write.inputs) && wins("inputs")) {
    setPayload(row, "inputs", write.inputs);
    row.input_pairs = write.input_pairs ?? null;
  }
  if (write.outputs && !isLessComplete(row.outputs, write.outputs) && wins("outputs")) {
    setPayload(row, "outputs", write.outputs);
    row.output_pairs = write.output_pairs ?? null;
  }
  if (write.error && wins("error")) setPayload(row, "error", write.error);
  if (write.events && wins("events")) setPayload(row, "events", write.events);
  if (write.serialized && wins("serialized")) setPayload(row, "serialized", write.serialized);
  if (write.extra) mergeExtra(row, write, write.extra, wins("extra"));
}

/** `{}` means "nothing to say": SDKs send it where they leave a field out. */
function isLessComplete(stored: string | null, { ...payload }: PayloadWrite): boolean {
  return stored !== null && "text" in payload && payload.text === "{}";
}

function setPayload(row: WholeRow, field: LargeField, payload: PayloadWrite): void {
  const large = row.large === null ? {} : (JSON.parse(row.large) as Record<string, LargePayload>);
  if ("text" in payload) {
    row[field] = payload.text;
    delete large[field];
  } else {
    row[field] = payload.preview;
    large[field] = { hash: payload.hash, bytes: payload.bytes };
  }
  row.large = Object.keys(large).length > 0 ? JSON.stringify(large) : null;
}

/**
 * Merges `extra` two levels deep (extra.metadata.x). The patch wins. When one of them is in R2, or the joined text is too
 * large, the patch's replaces the post's as a whole.
 */
function mergeExtra(row: WholeRow, write: RunWrite, extra: PayloadWrite, wins: boolean): void {
  const isEmpty = row.extra === null || row.extra === "{}";
  if (!isEmpty && isLessComplete(row.extra, extra)) return;
  const joined = isEmpty ? undefined : joinExtra(row, extra, wins);
  if (joined === undefined) {
    const isSealed = !isEmpty && isSealedExtra(row.extra ?? "");
    if (wins || isEmpty) setPayload(row, "extra", extra);
    // Metadata is not sealed, and is joined even where `extra` cannot be.
    if (isSealed) mergeMetadata(row, write, wins);
    else if (wins || isEmpty) row.metadata = write.metadata ?? null;
    return;
  }
  if (joined === row.extra) return;
  setPayload(row, "extra", { text: joined });
  mergeMetadata(row, write, wins);
}

function mergeMetadata(row: WholeRow, write: RunWrite, wins: boolean): void {
  if (write.metadata === undefined) return;
  const mine = parseExact(row.metadata ?? "{}") as Record<string, unknown>;
  const theirs = parseExact(write.metadata) as Record<string, unknown>;
  row.metadata = metadataText(wins ? { ...mine, ...theirs } : { ...theirs, ...mine });
}

/** The stored and the given `extra` as one text. Undefined when they cannot be joined. */
function joinExtra(row: WholeRow, extra: PayloadWrite, wins: boolean): string | undefined {
  const storedIsLarge = row.large !== null && "extra" in (JSON.parse(row.large) as object);
  if (row.extra === null || storedIsLarge || !("text" in extra)) return undefined;
  if (extra.text === row.extra) return row.extra;
  const [under, over] = wins ? [row.extra, extra.text] : [extra.text, row.extra];
  const joined = isSealedExtra(under) || isSealedExtra(over) ? listExtras(under, over) : joinTexts(under, over);
  return joined !== undefined && byteLength(joined) <= JOINED_EXTRA_BYTES ? joined : undefined;
}

const joinTexts = (under: string, over: string): string =>
  JSON.stringify(
    mergeExtras(parseExact(under) as Record<string, unknown>, parseExact(over) as Record<string, unknown>),
  );

/** Merges attachments by name. Attachments that do not fit in the column are left out. */
function mergeAttachments(stored: string | null, added: { name: string }[]): string {
  const byName = new Map((JSON.parse(stored ?? "[]") as { name: string }[]).map((item) => [item.name, item]));
  for (const item of added) byName.set(item.name, item);
  const all = [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  while (byteLength(all) > ATTACHMENTS_BYTES) all.pop();
  return JSON.stringify(all);
}

/** What follows from the other fields, besides the totals: place, status, thread, size. */
function derive(row: WholeRow): void {
  deriveTreePosition(row);
  row.status = row.error !== null ? "error" : row.end_time === null ? "pending" : "success";
  const metadata = row.metadata === null ? {} : (JSON.parse(row.metadata) as Record<string, unknown>);
  row.thread_id = readThreadId(metadata);
  row.bytes = measureRow(row);
  // A run that was stored without it stays in the index of ids: a write that says nothing new must change nothing.
  const mayBeTimed = row.is_root === 0 && (row.n === 0 || row.timed === 1);
  row.timed = mayBeTimed && isTimed(row.id, row.start_time) ? 1 : 0;
}

/**
 * The ancestors, from the dotted_order that the sender gave. Without one, as much as is known: `placeDerived` (write.ts) completes it
 * when the parent is there.
 */
function deriveTreePosition(row: WholeRow): void {
  const segments = row.placed === 1 ? parseDotted(row.dotted_order) : undefined;
  if (segments) {
    row.trace_id = segments[0]?.id ?? row.id;
    row.parent_run_id = segments.at(-2)?.id ?? null;
    row.parent_run_ids = JSON.stringify(segments.slice(0, -1).map(({ id }) => id));
    row.is_root = segments.length === 1 ? 1 : 0;
    return;
  }
  if (row.trace_id === "") row.trace_id = row.parent_run_id ?? row.id;
  row.is_root = row.parent_run_id === null && (row.placed === 2 || row.trace_id === row.id) ? 1 : 0;
  const ancestors = row.is_root === 1 ? [] : [...new Set([row.trace_id, row.parent_run_id ?? row.trace_id])];
  row.parent_run_ids = JSON.stringify(ancestors);
  row.dotted_order = [...ancestors, row.id].map((id) => segment(row.start_time, id)).join(".");
}

function readThreadId(metadata: Record<string, unknown>): string | null {
  const id = metadata["session_id"] ?? metadata["conversation_id"] ?? metadata["thread_id"];
  return typeof id === "string" || typeof id === "number" ? String(id).slice(0, 500) : null;
}

/** The approximate bytes of a run, including R2. */
function measureRow(row: WholeRow): number {
  const large = row.large === null ? [] : Object.values(JSON.parse(row.large) as Record<string, LargePayload>);
  const texts = [row.inputs, row.outputs, row.extra, row.events, row.error, row.metadata, row.serialized, row.tags];
  const sizes = [...texts.map((text) => (text === null ? 0 : byteLength(text))), ...large.map(({ bytes }) => bytes)];
  return 400 + row.dotted_order.length + sizes.reduce((a, b) => a + b, 0);
}

// Tokens and costs: a run's totals include what happened below it.

type Spender = Pick<RunRow, "id" | "parent_run_ids" | "run_type" | "metadata"> & { usage: string };

const TOTALS = [
  "total_tokens",
  "prompt_tokens",
  "completion_tokens",
  "total_cost",
  "prompt_cost",
  "completion_cost",
  "usage_details",
  "spends",
] as const satisfies (keyof RunRow)[];

type Totals = Pick<RunRow, (typeof TOTALS)[number]>;

/**
 * The most characters of a provider or model name. Only these are loaded: the metadata of a large trace does not fit in
 * memory.
 */
const MODEL = 200;

/**
 * Computes the totals of all runs of these traces from the usage that runs report, with one table of prices. Gives the runs that
 * changed.
 */
export function sumTotals(sql: SqlStorage, traces: string[], prices: PriceTable): string[] {
  const stored = sql
    .exec<Totals & Omit<Spender, "usage"> & { usage: string | null }>(
      `SELECT id, parent_run_ids, run_type, usage, ${TOTALS.join(", ")}, CASE WHEN usage IS NOT NULL AND metadata IS NOT NULL
         THEN json_object('ls_provider', substr(metadata ->> '$.ls_provider', 1, ${MODEL}),
           'ls_model_name', substr(metadata ->> '$.ls_model_name', 1, ${MODEL})) END AS metadata FROM runs
       WHERE (usage IS NOT NULL OR total_tokens IS NOT NULL OR total_cost IS NOT NULL OR id IN (
         SELECT a.value FROM runs s, json_each(s.parent_run_ids) a WHERE s.usage IS NOT NULL AND s.n IN ${OF_TRACES}
       )) AND n IN ${OF_TRACES}`,
      JSON.stringify(traces),
      JSON.stringify(traces),
    )
    .toArray();
  const totals = totalsOf(stored, prices);
  const changed: string[] = [];
  for (const row of stored) {
    const own = totals.get(row.id) ?? NOTHING;
    if (TOTALS.every((column) => row[column] === own[column])) continue;
    changed.push(row.id);
    sql.exec(
      `UPDATE runs SET ${TOTALS.map((column) => `${column} = ?`).join(", ")} WHERE n IN ${OF_IDS}`,
      ...TOTALS.map((column) => own[column]),
      JSON.stringify([row.id]),
    );
  }
  return changed;
}

/**
 * Sets the totals of new rows, as far as those that are written with them say. A trace most often comes whole: `sumTotals` then finds
 * nothing to change, which saves a write of each row.
 */
export function sumKnown(fresh: RunRow[], written: RunRow[], prices: PriceTable): void {
  const totals = totalsOf(written, prices);
  for (const row of fresh) Object.assign(row, totals.get(row.id) ?? NOTHING);
}

/**
 * The totals of runs: of a run above others, what was spent below it; of another one, what it reports itself. Runs without a total
 * are absent.
 */
function totalsOf(
  rows: (Omit<Spender, "usage"> & { usage: string | null })[],
  prices: PriceTable,
): Map<string, Totals> {
  const spenders = rows.filter((row): row is Spender => row.usage !== null);
  const models = new Set(spenders.filter((run) => MODEL_RUNS.has(run.run_type)).map((run) => run.id));
  const paths = new Map(spenders.map((run) => [run.id, JSON.parse(run.parent_run_ids) as string[]]));
  const aboveSpenders = new Set([...paths.values()].flat());
  const own = new Map<string, Usage>();
  const below = new Map<string, Usage>();
  const counted = new Set<string>();
  for (const run of spenders) {
    const metadata = JSON.parse(run.metadata ?? "{}") as Record<string, unknown>;
    const usage = addCost(JSON.parse(run.usage) as Usage, metadata, prices);
    own.set(run.id, usage);
    if (!models.has(run.id) && aboveSpenders.has(run.id)) continue;
    // Upwards, as far as the next model run: that one already reports the whole call.
    const path = (paths.get(run.id) ?? []).toReversed();
    const end = path.findIndex((id) => models.has(id));
    if (end === -1) counted.add(run.id);
    for (const ancestor of end === -1 ? path : path.slice(0, end)) {
      const sum = below.get(ancestor);
      below.set(ancestor, sum ? addUsage(sum, usage) : usage);
    }
  }
  const all = new Set([...own.keys(), ...below.keys()]);
  return new Map(
    [...all].map((id) => [id, { ...toTotals(below.get(id) ?? own.get(id)), spends: counted.has(id) ? 1 : 0 }]),
  );
}

function toTotals(usage: Usage | undefined): Totals {
  const details = {
    prompt: usage?.prompt_token_details,
    completion: usage?.completion_token_details,
    prompt_cost: usage?.prompt_cost_details,
    completion_cost: usage?.completion_cost_details,
  };
  return {
    total_tokens: usage?.total_tokens ?? null,
    prompt_tokens: usage?.prompt_tokens ?? null,
    completion_tokens: usage?.completion_tokens ?? null,
    total_cost: usage?.total_cost ?? null,
    prompt_cost: usage?.prompt_cost ?? null,
    completion_cost: usage?.completion_cost ?? null,
    usage_details: Object.values(details).some((one) => one) ? JSON.stringify(details) : null,
    spends: 0,
  };
}

const NOTHING = toTotals(undefined);
