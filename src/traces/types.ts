/** Runs of traces and what is derived from them, as a partition stores, reads and sums them. */
import * as v from "valibot";
import { Time } from "../http/shapes.ts";
import type { TraceTier } from "./projects/table.ts";
import type { Usage } from "../limits/prices/usage.ts";

/** The location of runs of a workspace: a shard of a project's UTC day (YYYY-MM-DD). */
export interface PartitionLocation {
  projectId: string;
  day: string;
  shard: number;
}

/** What `run_type` can be, in both directions: the SDKs know no others. */
export const RUN_TYPES: ReadonlySet<string> = new Set([
  "llm",
  "chain",
  "tool",
  "retriever",
  "embedding",
  "prompt",
  "parser",
]);

/** Runs that report a call to a model. A usage that another kind of run repeats from below it is not counted twice. */
export const MODEL_RUNS: ReadonlySet<string> = new Set(["llm", "embedding"]);

/** The payloads of a run that exports and queries read. */
export const PAYLOAD_FIELDS = ["inputs", "outputs", "error", "extra", "events"] as const;

export type PayloadField = (typeof PAYLOAD_FIELDS)[number];

/** The fields that can be too large for a SQLite row. Fields above 256 KB are stored in R2, and `large` names them. */
export const LARGE_FIELDS = [...PAYLOAD_FIELDS, "serialized"] as const;

export type LargeField = (typeof LARGE_FIELDS)[number];

/** A payload kept in R2 under `payloadKey`. */
export interface LargePayload {
  /** SHA-256 of the text, hex. */
  hash: string;
  /** Its length in UTF-8, bytes. */
  bytes: number;
}

/**
 * A run of a trace as a partition holds it: every field of specification section 2.6.
 * Times are microseconds since the epoch (see time.ts). Payloads are JSON texts; `error` is plain text.
 */
export interface StoredTraceRun {
  id: string;
  tenant_id: string;
  session_id: string;
  trace_id: string;
  parent_run_id: string | null;
  /** Ancestors, root first. */
  parent_run_ids: string[];
  reference_example_id: string | null;
  name: string;
  run_type: string;
  start_time: number;
  end_time: number | null;
  status: "success" | "error" | "pending";
  is_root: boolean;
  dotted_order: string;
  trace_tier: TraceTier;
  inputs: string | null;
  outputs: string | null;
  error: string | null;
  extra: string | null;
  events: string | null;
  tags: string[];
  /** JSON text, or null when the run has no feedback. */
  feedback_stats: string | null;
  total_tokens: number | null;
  prompt_tokens: number | null;
  completion_tokens: number | null;
  /** US dollars. */
  total_cost: number | null;
  prompt_cost: number | null;
  completion_cost: number | null;
  first_token_time: number | null;
  /** Payloads that are not in their field (null there) but in R2: see `payloadKey`. */
  large?: Partial<Record<LargeField, LargePayload>>;
}

/** A position in a partition's order by (start_time, id): everything up to and including it has been read. */
export interface RunPosition {
  start_time: number;
  id: string;
}

/** A payload during ingest: its JSON text, or the key of its text in R2 with a small JSON preview. */
export type PayloadWrite = { text: string } | ({ preview: string } & LargePayload);

/** A file sent with a run. It is stored in R2 under `attachmentKey`. */
export interface StoredAttachment {
  name: string;
  type: string;
  bytes: number;
}

/**
 * One post or patch of a run. Fields that are absent leave what is stored; a patch wins over a post, whichever comes
 * first. Applying the same write again changes nothing.
 */
export interface RunWrite {
  kind: "post" | "patch";
  id: string;
  trace_id?: string;
  parent_run_id?: string;
  dotted_order?: string;
  /** A root whose trace has another id, as spans of OpenTelemetry do. */
  is_root?: boolean;
  name?: string;
  run_type?: string;
  /** Microseconds. Always within the partition's day. */
  start_time?: number;
  /** `start_time` is what `dotted_order` says, because the sender states no other. */
  start_is_derived?: boolean;
  end_time?: number;
  first_token_time?: number;
  tags?: string[];
  reference_example_id?: string;
  execution_order?: number;
  inputs?: PayloadWrite;
  outputs?: PayloadWrite;
  error?: PayloadWrite;
  extra?: PayloadWrite;
  events?: PayloadWrite;
  serialized?: PayloadWrite;
  /** JSON object: the part of `extra` that filters look into. */
  metadata?: string;
  /** JSON arrays of [path, text]: what filters on input_key and output_key find. */
  input_pairs?: string;
  output_pairs?: string;
  usage?: Usage;
  attachments?: StoredAttachment[];
}

/** Feedback as it is stored and shown; `start_time` of its run or, for a project's own feedback, of itself. */
export type StoredFeedback = v.InferOutput<typeof StoredFeedback>;
export const StoredFeedback = v.pipe(
  v.object({
    id: v.string(),
    run_id: v.nullable(v.string()),
    trace_id: v.nullable(v.string()),
    session_id: v.string(),
    key: v.string(),
    score: v.nullable(v.union([v.number(), v.boolean()])),
    value: v.unknown(),
    comment: v.nullable(v.string()),
    correction: v.unknown(),
    error: v.boolean(),
    feedback_source: v.looseObject({
      type: v.string(),
      metadata: v.optional(v.unknown()),
      user_id: v.optional(v.string()),
    }),
    feedback_config: v.unknown(),
    feedback_group_id: v.nullable(v.string()),
    comparative_experiment_id: v.nullable(v.string()),
    extra: v.unknown(),
    created_at: Time,
    modified_at: Time,
  }),
  v.title("Feedback"),
);

/** A run with what only queries show. */
export interface QueriedRun extends StoredTraceRun {
  shard: number;
  thread_id: string | null;
  execution_order: number;
  serialized: string | null;
  /** JSON: {prompt, completion}, each a map from kind of token to number. */
  usage_details: string | null;
  attachments: StoredAttachment[];
  /** Previews of payloads in R2: the first characters of an error, and small JSON values of the others. */
  previews?: Partial<Record<LargeField, string>>;
}

export type TraceTreeRun = Pick<
  QueriedRun,
  | "id"
  | "session_id"
  | "trace_id"
  | "parent_run_ids"
  | "dotted_order"
  | "name"
  | "run_type"
  | "start_time"
  | "end_time"
  | "status"
  | "first_token_time"
  | "total_tokens"
  | "total_cost"
>;

/** Sums over runs that can be added to those of others. */
export interface RunSums {
  run_count: number;
  error_count: number;
  streaming_count: number;
  total_tokens: number;
  prompt_tokens: number;
  completion_tokens: number;
  /** US dollars. */
  total_cost: number;
  prompt_cost: number;
  completion_cost: number;
  /** Microseconds. */
  last_run_start_time: number | null;
}

/** How many runs took how many microseconds (partition/stats/durations.ts). */
export type DurationCounts = Map<number, number>;

/** What statistics over projects and days are made of. */
export interface PartitionStats extends RunSums {
  /** Durations and times to the first token. */
  latencies: DurationCounts;
  first_tokens: DurationCounts;
  feedback: Record<string, FeedbackSum>;
}

/** A sum of tokens or dollars of one kind, which is a name that senders choose. */
export interface UsageDetail {
  side: "prompt" | "completion" | "prompt_cost" | "completion_cost";
  kind: string;
  sum: number;
}

/** What statistics of threads are made of: the figures of their turns, which are root runs. */
export interface ThreadStats extends PartitionStats {
  /** Microseconds. */
  first_start_time: number | null;
  last_end_time: number | null;
  thread_ids: string[];
  /** By a number of tokens, how many turns have it. */
  tokens: Map<number, number>;
  details: UsageDetail[];
}

/** Figures of the runs that share a key: the begin of a bucket in microseconds, or a value of a property. */
export interface TraceStats {
  key: string | number;
  run_count: number;
  error_count: number;
  pending_count: number;
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  /** US dollars. */
  total_cost: number;
  /** How many runs took about so long: steps of a logarithmic scale (partition/stats/durations.ts), so that they can be added. */
  durations: Record<number, number>;
}

export interface PartitionSeries {
  times: TraceStats[];
  keys: TraceStats[];
}

export interface FeedbackSum {
  n: number;
  scored: number;
  sum: number;
  squares: number;
  min: number | null;
  max: number | null;
  errors: number;
  values: Record<string, number>;
}

/** Upper bounds of the buckets of a `Histogram`, seconds. */
export const BOUNDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600];

export interface Histogram {
  /** How many were at most so long as each of BOUNDS. */
  buckets: number[];
  count: number;
  /** Seconds. */
  sum: number;
}

/** How this server's own runs of graphs went. */
export interface RunTimes {
  statuses: Record<string, number>;
  /** From a run's beginning to its end. */
  duration: Histogram;
  /** From when it was due to the first thing its graph gave. */
  firstEvent: Histogram;
  /** From when it was due to its beginning. */
  wait: Histogram;
}

/** The part of a project's thread that is in one partition. */
export interface ThreadSummary {
  thread_id: string;
  count: number;
  min_start_time: number;
  max_start_time: number;
  total_tokens: number;
  total_cost: number;
  /** Previews, so that 1,000 threads fit in one RPC message. */
  first_inputs: string | null;
  last_outputs: string | null;
  last_error: string | null;
  /** Durations of its turns. */
  latencies: DurationCounts;
}

/**
 * The identity of a partition. Every write contains it, because an object does not know its own name after a restart.
 */
export interface PartitionIdentity extends PartitionLocation {
  workspaceId: string;
  traceTier: TraceTier;
}
