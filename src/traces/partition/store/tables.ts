/** The partition's tables. */
import type { TableSchema } from "../../../lib/object-tables.ts";
import { IN_TRACES } from "./ids.ts";

/** A run below a root of an earlier day; `runs_crossing` finds them, so this text must not change. */
export const CROSSING =
  "is_root = 0 AND substr(dotted_order, 1, 8) <> strftime('%Y%m%d', start_time / 1000000, 'unixepoch')";

/**
 * `runs` is narrow, because filters and lists read all of it. Payloads are in `packs` and `payloads` (payloads.ts).
 * Times are microseconds, costs US dollars, lists and objects JSON.
 */
export const PARTITION_SCHEMA: TableSchema = {
  kind: "partition",
  steps: [
    `CREATE TABLE runs (
       n INTEGER PRIMARY KEY,
       id TEXT NOT NULL,
       trace_id TEXT NOT NULL,
       parent_run_id TEXT,
       parent_run_ids TEXT NOT NULL,
       dotted_order TEXT NOT NULL,
       -- 1: the sender gave dotted_order. 0: it is derived from the parent, as far as that is known. 2: a root without one.
       placed INTEGER NOT NULL,
       name TEXT NOT NULL,
       run_type TEXT NOT NULL,
       start_time INTEGER NOT NULL,
       end_time INTEGER,
       first_token_time INTEGER,
       status TEXT NOT NULL,
       is_root INTEGER NOT NULL,
       error TEXT,
       tags TEXT NOT NULL,
       metadata TEXT,
       thread_id TEXT,
       reference_example_id TEXT,
       execution_order INTEGER NOT NULL,
       -- What the run says of itself; the totals include its descendants.
       usage TEXT,
       total_tokens INTEGER,
       prompt_tokens INTEGER,
       completion_tokens INTEGER,
       total_cost REAL,
       prompt_cost REAL,
       completion_cost REAL,
       usage_details TEXT,
       feedback_stats TEXT,
       -- Which fields came from a patch: a late post leaves them alone.
       patched INTEGER NOT NULL,
       bytes INTEGER NOT NULL,
       -- The number of the run's last change, and of the one that inserted it (changes.ts).
       change INTEGER NOT NULL DEFAULT 0,
       -- Which runs the indexes of traces and ids leave out (ids.ts).
       followers INTEGER NOT NULL DEFAULT 0,
       first_change INTEGER NOT NULL DEFAULT 0,
       timed INTEGER NOT NULL DEFAULT 0
     );
     CREATE UNIQUE INDEX runs_id ON runs (id) WHERE timed = 0;
     -- Also finds roots.
     CREATE INDEX runs_start ON runs (start_time, id, is_root);
     CREATE INDEX runs_trace ON runs (trace_id) WHERE ${IN_TRACES};
     CREATE INDEX runs_derived ON runs (parent_run_id) WHERE placed = 0;
     CREATE INDEX runs_threads ON runs (thread_id, start_time) WHERE thread_id IS NOT NULL AND is_root = 1;
     CREATE INDEX runs_crossing ON runs (trace_id) WHERE ${CROSSING};
     -- Failed runs and their traces. A filter must name the status as a literal for SQLite to use it (filter/sql.ts).
     CREATE INDEX runs_failed ON runs (start_time, id, trace_id) WHERE status = 'error';
     CREATE INDEX runs_change ON runs (change, start_time, id) WHERE change > first_change;

     CREATE TABLE payloads (
       n INTEGER PRIMARY KEY,
       inputs TEXT,
       outputs TEXT,
       extra TEXT,
       events TEXT,
       serialized TEXT,
       input_pairs TEXT,
       output_pairs TEXT,
       -- field -> {hash, bytes}: the column then holds a preview only.
       large TEXT,
       attachments TEXT
     );
     -- The payloads of the runs 4n to 4n + 3 (payloads.ts).
     CREATE TABLE packs (
       n INTEGER PRIMARY KEY,
       inputs_0 TEXT, outputs_0 TEXT, extra_0 TEXT, events_0 TEXT,
       serialized_0 TEXT, input_pairs_0 TEXT, output_pairs_0 TEXT,
       inputs_1 TEXT, outputs_1 TEXT, extra_1 TEXT, events_1 TEXT,
       serialized_1 TEXT, input_pairs_1 TEXT, output_pairs_1 TEXT,
       inputs_2 TEXT, outputs_2 TEXT, extra_2 TEXT, events_2 TEXT,
       serialized_2 TEXT, input_pairs_2 TEXT, output_pairs_2 TEXT,
       inputs_3 TEXT, outputs_3 TEXT, extra_3 TEXT, events_3 TEXT,
       serialized_3 TEXT, input_pairs_3 TEXT, output_pairs_3 TEXT
     );

     CREATE TABLE feedback (
       id TEXT PRIMARY KEY,
       run_id TEXT,
       trace_id TEXT,
       key TEXT NOT NULL,
       score REAL,
       -- The value as JSON, and as the text that filters compare.
       value TEXT,
       value_text TEXT,
       source_type TEXT NOT NULL,
       -- Everything else as JSON.
       rest TEXT NOT NULL,
       created_at INTEGER NOT NULL,
       modified_at INTEGER NOT NULL
     ) WITHOUT ROWID;
     CREATE INDEX feedback_run ON feedback (run_id);
     CREATE INDEX feedback_trace ON feedback (trace_id);
     -- The ids of deleted feedback. Their locations are still to be deleted in D1.
     CREATE TABLE unlisted (id TEXT PRIMARY KEY) WITHOUT ROWID;

     -- The closed blocks (blocks/blocks.ts). What the other three tables have of other blocks is not valid.
     CREATE TABLE blocks (block INTEGER PRIMARY KEY, has_grams INTEGER NOT NULL, has_sums INTEGER NOT NULL);
     CREATE TABLE grams (n INTEGER PRIMARY KEY, bits BLOB NOT NULL);
     -- The least and greatest values as JSON (blocks/blocks.ts).
     CREATE TABLE bounds (block INTEGER PRIMARY KEY, bounds TEXT NOT NULL);
     CREATE TABLE rollups (
       block INTEGER NOT NULL,
       n INTEGER NOT NULL,
       hour INTEGER NOT NULL,
       name TEXT NOT NULL,
       run_type TEXT NOT NULL,
       status TEXT NOT NULL,
       is_root INTEGER NOT NULL,
       model TEXT,
       run_count INTEGER NOT NULL,
       streaming_count INTEGER NOT NULL,
       total_tokens INTEGER NOT NULL,
       prompt_tokens INTEGER NOT NULL,
       completion_tokens INTEGER NOT NULL,
       total_cost REAL NOT NULL,
       prompt_cost REAL NOT NULL,
       completion_cost REAL NOT NULL,
       last_run_start_time INTEGER NOT NULL,
       -- Sketches as JSON: how many durations each bucket has.
       latencies TEXT NOT NULL,
       first_tokens TEXT NOT NULL,
       PRIMARY KEY (block, n)
     ) WITHOUT ROWID;

     -- The ids of deleted traces and of their runs.
     CREATE TABLE deleted (id TEXT PRIMARY KEY) WITHOUT ROWID;
     -- The keys in R2 of what is still to be deleted there, and when it may be, milliseconds; negative: when it was deleted.
     CREATE TABLE doomed (key TEXT PRIMARY KEY, due INTEGER NOT NULL) WITHOUT ROWID;
     -- The traces that are kept for longer than the others (retention.ts).
     CREATE TABLE kept (trace_id TEXT PRIMARY KEY) WITHOUT ROWID;

     -- The runs that rules have taken (rules.ts). due: when it may be given, milliseconds; null when it is over.
     CREATE TABLE rule_runs (
       n INTEGER NOT NULL, rule TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'due', due INTEGER,
       attempts INTEGER NOT NULL DEFAULT 0, step INTEGER NOT NULL DEFAULT 0, cost REAL NOT NULL DEFAULT 0,
       PRIMARY KEY (n, rule)
     ) WITHOUT ROWID;
     CREATE INDEX rule_runs_due ON rule_runs (rule, due) WHERE state = 'due';
     CREATE TABLE rule_readings (
       rule TEXT NOT NULL, reading TEXT NOT NULL, change INTEGER NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (rule, reading)
     ) WITHOUT ROWID;
     -- The sums of rule_runs, which has a row for each run.
     CREATE TABLE rule_counts (
       rule TEXT PRIMARY KEY, taken INTEGER NOT NULL, done INTEGER NOT NULL, failed INTEGER NOT NULL, cost REAL NOT NULL
     ) WITHOUT ROWID;`,
    // 1: the totals are the run's own usage. 0: they are of runs below it, or repeat what runs above or below it report. So the
    // totals of the runs with 1 add up to those of the roots. The sums of older blocks cannot tell, and are made again.
    `ALTER TABLE runs ADD COLUMN spends INTEGER NOT NULL DEFAULT 0;
     UPDATE runs SET spends = 1 WHERE usage IS NOT NULL AND run_type IN ('llm', 'embedding');
     -- The sums of those of its runs whose totals are their own, as JSON: the columns from total_tokens to completion_cost.
     ALTER TABLE rollups ADD COLUMN own TEXT NOT NULL DEFAULT '[]';
     DELETE FROM rollups;
     UPDATE blocks SET has_sums = 0;`,
    // The ids of the actions that are done. A count of them (step) says nothing once the rule has changed.
    "ALTER TABLE rule_runs ADD COLUMN did TEXT NOT NULL DEFAULT '[]'",
  ],
};

export interface RunRow {
  n: number;
  id: string;
  trace_id: string;
  parent_run_id: string | null;
  parent_run_ids: string;
  dotted_order: string;
  placed: number;
  name: string;
  run_type: string;
  start_time: number;
  end_time: number | null;
  first_token_time: number | null;
  status: "success" | "error" | "pending";
  is_root: number;
  error: string | null;
  tags: string;
  metadata: string | null;
  thread_id: string | null;
  reference_example_id: string | null;
  execution_order: number;
  usage: string | null;
  total_tokens: number | null;
  prompt_tokens: number | null;
  completion_tokens: number | null;
  total_cost: number | null;
  prompt_cost: number | null;
  completion_cost: number | null;
  usage_details: string | null;
  feedback_stats: string | null;
  patched: number;
  bytes: number;
  change: number;
  followers: number;
  first_change: number;
  timed: number;
  spends: number;
}

/** The payloads of a run: a row of `payloads`, or a part of a row of `packs`. */
export interface PayloadRow {
  inputs: string | null;
  outputs: string | null;
  extra: string | null;
  events: string | null;
  serialized: string | null;
  input_pairs: string | null;
  output_pairs: string | null;
  large: string | null;
  attachments: string | null;
}

export type WholeRow = RunRow & PayloadRow;

export const RUN_COLUMNS = [
  "n",
  "id",
  "trace_id",
  "parent_run_id",
  "parent_run_ids",
  "dotted_order",
  "placed",
  "name",
  "run_type",
  "start_time",
  "end_time",
  "first_token_time",
  "status",
  "is_root",
  "error",
  "tags",
  "metadata",
  "thread_id",
  "reference_example_id",
  "execution_order",
  "usage",
  "total_tokens",
  "prompt_tokens",
  "completion_tokens",
  "total_cost",
  "prompt_cost",
  "completion_cost",
  "usage_details",
  "feedback_stats",
  "patched",
  "bytes",
  "change",
  "followers",
  "first_change",
  "timed",
  "spends",
] as const satisfies (keyof RunRow)[];

/** The payload columns that a pack has for each of its runs. */
export const PACKED_COLUMNS = [
  "inputs",
  "outputs",
  "extra",
  "events",
  "serialized",
  "input_pairs",
  "output_pairs",
] as const;
export type PackedColumn = (typeof PACKED_COLUMNS)[number];

export const PAYLOAD_COLUMNS = [...PACKED_COLUMNS, "large", "attachments"] as const satisfies (keyof PayloadRow)[];
