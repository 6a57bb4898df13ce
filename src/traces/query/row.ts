/** A run as the two generations of the query API show it. */
import * as v from "valibot";
import type { InferOutput } from "valibot";
import { AnyObject, Count, Time } from "../../http/shapes.ts";
import { Attachments, attachmentUrls } from "./attachments.ts";
import { parseExact } from "../../lib/json.ts";
import { previewText_ as preview, PREVIEW } from "../text.ts";
import { roundCost } from "../../limits/prices/price-list.ts";
import type { LargeField, QueriedRun, TraceTreeRun } from "../types.ts";
import { isoFromMicros } from "../time.ts";
import { database } from "../../db/client.ts";
import { projectById } from "../projects/resolve.ts";

// Runs in the answers of the two generations of the query API.

const text = v.nullable(v.string());
const time = v.nullable(Time);
const object = v.nullable(AnyObject);
const Dollars = v.nullable(v.number());
/** US dollars as decimal text, which keeps small amounts exact. */
const DecimalDollars = text;
/** Kinds of tokens or costs, whose names senders choose. */
const UsageDetails = v.nullable(v.object({ raw: AnyObject }));

/** Members that both generations have. Ids are texts, because senders choose them. */
const shared = {
  id: v.string(),
  name: v.string(),
  run_type: v.string(),
  trace_id: v.string(),
  dotted_order: v.string(),
  app_path: v.string(),
  parent_run_ids: v.array(v.string()),
  thread_id: text,
  reference_example_id: text,
  reference_dataset_id: text,
  start_time: time,
  end_time: time,
  first_token_time: time,
  last_queued_at: v.null(),
  inputs: v.unknown(),
  outputs: v.unknown(),
  inputs_preview: text,
  outputs_preview: text,
  error: text,
  extra: v.unknown(),
  events: v.unknown(),
  tags: v.array(v.string()),
  feedback_stats: object,
  total_tokens: Count,
  prompt_tokens: Count,
  completion_tokens: Count,
  price_model_id: v.null(),
};

/** The first generation. */
export const Run = v.pipe(
  v.object({
    ...shared,
    status: v.picklist(["success", "error", "pending"]),
    session_id: v.string(),
    parent_run_id: text,
    execution_order: v.number(),
    serialized: v.unknown(),
    manifest_id: v.null(),
    manifest_s3_id: v.null(),
    prompt_token_details: object,
    completion_token_details: object,
    total_cost: DecimalDollars,
    prompt_cost: DecimalDollars,
    completion_cost: DecimalDollars,
    prompt_cost_details: object,
    completion_cost_details: object,
    in_dataset: v.literal(false),
    trace_tier: v.picklist(["longlived", "shortlived"]),
    share_token: v.null(),
    s3_urls: v.nullable(Attachments),
    inputs_s3_urls: v.null(),
    outputs_s3_urls: v.null(),
  }),
  v.title("TracedRun"),
);

/** The second generation. */
const RunV2 = v.object({
  ...shared,
  status: v.picklist(["SUCCESS", "ERROR", "PENDING"]),
  latency_seconds: v.nullable(v.number()),
  project_id: v.string(),
  error_preview: text,
  metadata: AnyObject,
  manifest: v.unknown(),
  is_root: v.boolean(),
  total_cost: Dollars,
  prompt_cost: Dollars,
  completion_cost: Dollars,
  prompt_token_details: UsageDetails,
  completion_token_details: UsageDetails,
  prompt_cost_details: UsageDetails,
  completion_cost_details: UsageDetails,
  attachments: v.record(v.string(), v.string()),
  thread_evaluation_time: v.null(),
  is_in_dataset: v.literal(false),
  share_url: v.null(),
});
export type RunV2 = v.InferOutput<typeof RunV2>;

/** The members of a run that a request selects; without a selection its id. */
export const SelectedRun = v.pipe(v.object({ ...v.partial(RunV2).entries, id: shared.id }), v.title("SelectedRun"));

export interface ShapeContext {
  workspaceId: string;
  /** `reference_dataset_id` of each project that is an experiment. */
  datasets: Map<string, string | null>;
  attachmentUrl: (run: QueriedRun, name: string) => string;
}

function iso(micros: number | null): string | null {
  return micros === null ? null : isoFromMicros(micros);
}

function json(text: string | null): unknown {
  return text === null ? null : parseExact(text);
}

function dollars(cost: number | null): number | null {
  return cost === null ? null : roundCost(cost);
}

/** Costs are decimal strings in the first generation. */
function decimal(cost: number | null): string | null {
  const rounded = dollars(cost);
  if (rounded === null) return null;
  return rounded !== 0 && Math.abs(rounded) < 1e-6 ? rounded.toFixed(15).replace(/0+$/, "") : String(rounded);
}

interface Details {
  prompt?: object;
  completion?: object;
  prompt_cost?: object;
  completion_cost?: object;
}

function details(run: QueriedRun): Details {
  return json(run.usage_details) ?? {};
}

/** The run on this server's page. The SDKs put it behind the server's address. */
const appPath = (run: QueriedRun) => `/traces/${run.trace_id}?project=${run.session_id}&run=${run.id}`;

type Fields<Shape> = { [Name in keyof Shape]: (run: QueriedRun, context: ShapeContext) => unknown };

/** The fields of these names. A name that is no field is left out. */
function showRun(
  fields: Fields<Record<string, unknown>>,
  names: string[],
  run: QueriedRun,
  context: ShapeContext,
): object {
  const known = names.filter((name) => Object.hasOwn(fields, name));
  return Object.fromEntries(known.map((name) => [name, fields[name]?.(run, context)]));
}

/** Every field of the first generation, made on demand. */
const V1: Fields<InferOutput<typeof Run>> = {
  id: (run) => run.id,
  name: (run) => run.name,
  run_type: (run) => run.run_type,
  trace_id: (run) => run.trace_id,
  dotted_order: (run) => run.dotted_order,
  status: (run) => run.status,
  session_id: (run) => run.session_id,
  app_path: appPath,
  parent_run_id: (run) => run.parent_run_id,
  parent_run_ids: (run) => run.parent_run_ids,
  execution_order: (run) => run.execution_order,
  thread_id: (run) => run.thread_id,
  reference_example_id: (run) => run.reference_example_id,
  reference_dataset_id: (run, { datasets }) => datasets.get(run.session_id) ?? null,
  start_time: (run) => iso(run.start_time),
  end_time: (run) => iso(run.end_time),
  first_token_time: (run) => iso(run.first_token_time),
  last_queued_at: () => null,
  inputs: (run) => json(run.inputs) ?? {},
  outputs: (run) => json(run.outputs),
  inputs_preview: (run) => preview(run.previews?.inputs ?? run.inputs),
  outputs_preview: (run) => preview(run.previews?.outputs ?? run.outputs),
  error: (run) => run.error,
  extra: (run) => json(run.extra) ?? {},
  events: (run) => json(run.events) ?? [],
  serialized: (run) => json(run.serialized),
  manifest_id: () => null,
  manifest_s3_id: () => null,
  tags: (run) => run.tags,
  feedback_stats: (run) => json(run.feedback_stats),
  total_tokens: (run) => run.total_tokens ?? 0,
  prompt_tokens: (run) => run.prompt_tokens ?? 0,
  completion_tokens: (run) => run.completion_tokens ?? 0,
  prompt_token_details: (run) => details(run).prompt ?? null,
  completion_token_details: (run) => details(run).completion ?? null,
  total_cost: (run) => decimal(run.total_cost),
  prompt_cost: (run) => decimal(run.prompt_cost),
  completion_cost: (run) => decimal(run.completion_cost),
  prompt_cost_details: (run) => details(run).prompt_cost ?? null,
  completion_cost_details: (run) => details(run).completion_cost ?? null,
  price_model_id: () => null,
  in_dataset: () => false,
  trace_tier: (run) => run.trace_tier,
  share_token: () => null,
  s3_urls: (run, context) => attachmentsV1(run, context),
  inputs_s3_urls: () => null,
  outputs_s3_urls: () => null,
};

/**
 * The first generation shows them with every selection. The clients do not select the last ones, and read the attachments and the
 * details of tokens and costs from them.
 */
const ALWAYS_V1 = `id name run_type trace_id dotted_order status session_id app_path
  s3_urls prompt_token_details completion_token_details prompt_cost_details completion_cost_details`.split(/\s+/);

/** The run with the selected fields, or with all; what identifies it is always there. */
export function runV1(run: QueriedRun, select: Set<string> | undefined, context: ShapeContext): object {
  const names = select ? [...new Set([...ALWAYS_V1, ...select])] : Object.keys(V1);
  return showRun(V1, names, run, context);
}

/** The names of the first generation, for those who select none. */
export const NAMES_V1 = new Set(Object.keys(V1));

/** The fields of the second generation that the tree of a trace has. */
const TREE = {
  id: (run: TraceTreeRun) => run.id,
  name: (run: TraceTreeRun) => run.name,
  run_type: (run: TraceTreeRun) => run.run_type.toUpperCase(),
  status: (run: TraceTreeRun) => run.status.toUpperCase(),
  start_time: (run: TraceTreeRun) => iso(run.start_time),
  end_time: (run: TraceTreeRun) => iso(run.end_time),
  latency_seconds: (run: TraceTreeRun) =>
    run.end_time === null ? null : Math.max(0, run.end_time - run.start_time) / 1e6,
  parent_run_ids: (run: TraceTreeRun) => run.parent_run_ids,
  project_id: (run: TraceTreeRun) => run.session_id,
  trace_id: (run: TraceTreeRun) => run.trace_id,
  dotted_order: (run: TraceTreeRun) => run.dotted_order,
  first_token_time: (run: TraceTreeRun) => iso(run.first_token_time),
  total_tokens: (run: TraceTreeRun) => run.total_tokens ?? 0,
  total_cost: (run: TraceTreeRun) => dollars(run.total_cost),
};

/** Whether the tree of a trace has all of these fields. */
export const isOfTree = (selects: Set<string>): boolean => [...selects].every((name) => Object.hasOwn(TREE, name));

/** Every field of a run in a tree. */
export const TREE_NAMES = new Set(Object.keys(TREE));

/** A run of a tree with the selected fields (`isOfTree`). Without a selection, its id only. */
export function runOfTree(run: TraceTreeRun, selects: Set<string>): object {
  return Object.fromEntries(
    ["id", ...selects].map((name) => [name, (TREE as Record<string, (run: TraceTreeRun) => unknown>)[name]!(run)]),
  );
}

/** Every field of the second generation; names of selection are these in upper case. */
const V2: Fields<RunV2> = {
  ...TREE,
  error: V1.error,
  error_preview: (run) => (run.previews?.error ?? run.error)?.slice(0, PREVIEW) ?? null,
  extra: V1.extra,
  metadata: (run) => ((json(run.extra) ?? {}) as { metadata?: object }).metadata ?? {},
  events: V1.events,
  inputs: V1.inputs,
  inputs_preview: V1.inputs_preview,
  outputs: V1.outputs,
  outputs_preview: V1.outputs_preview,
  manifest: V1.serialized,
  thread_id: V1.thread_id,
  is_root: (run) => run.is_root,
  reference_example_id: V1.reference_example_id,
  reference_dataset_id: V1.reference_dataset_id,
  prompt_tokens: V1.prompt_tokens,
  completion_tokens: V1.completion_tokens,
  prompt_cost: (run) => dollars(run.prompt_cost),
  completion_cost: (run) => dollars(run.completion_cost),
  prompt_token_details: (run) => raw(details(run).prompt),
  completion_token_details: (run) => raw(details(run).completion),
  prompt_cost_details: (run) => raw(details(run).prompt_cost),
  completion_cost_details: (run) => raw(details(run).completion_cost),
  price_model_id: () => null,
  tags: V1.tags,
  app_path: appPath,
  attachments: (run, context) =>
    Object.fromEntries(run.attachments.map(({ name }) => [name, context.attachmentUrl(run, name)])),
  thread_evaluation_time: () => null,
  is_in_dataset: () => false,
  last_queued_at: () => null,
  share_url: () => null,
  feedback_stats: V1.feedback_stats,
};

export const NAMES_V2 = new Set(Object.keys(V2));

/** Without a selection the second generation shows the id only. */
export function runV2(run: QueriedRun, selects: Set<string>, context: ShapeContext): object {
  return showRun(V2, ["id", ...selects], run, context);
}

/** Selected fields that need payloads under another name. */
export function payloadNames(names: Set<string>): Set<string> {
  const needed = new Set(names);
  if (names.has("metadata")) needed.add("extra");
  if (names.has("inputs_preview")) needed.add("inputs");
  if (names.has("outputs_preview")) needed.add("outputs");
  if (names.has("manifest")) needed.add("serialized");
  return needed;
}

export function valuePayloads(names: Set<string>): LargeField[] {
  return names.has("metadata") ? ["extra"] : [];
}

function raw(map: object | undefined): object | null {
  return map ? { raw: map } : null;
}

function attachmentsV1(run: QueriedRun, context: ShapeContext): object | null {
  if (run.attachments.length === 0) return null;
  return Object.fromEntries(
    run.attachments.map(({ name, type }) => [
      `attachment.${name}`,
      { presigned_url: context.attachmentUrl(run, name), s3_url: null, mime_type: type },
    ]),
  );
}

// What the shapes of runs need beyond the runs.

/** `origin`: the server's own, for the links. */
export async function readContext(
  env: Env,
  origin: string,
  workspaceId: string,
  runs: QueriedRun[],
): Promise<ShapeContext> {
  const datasets = new Map<string, string | null>();
  for (const id of new Set(runs.map((run) => run.session_id))) {
    datasets.set(id, (await projectById(database(env.DB), workspaceId, id))?.referenceDatasetId ?? null);
  }
  return { workspaceId, datasets, attachmentUrl: await attachmentUrls(env, origin, runs) };
}
