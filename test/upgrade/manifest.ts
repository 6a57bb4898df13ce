/** What clients of the fixture's server received before it was killed. Stored as JSON beside the packed state. */
import type { Seen } from "./log.ts";
import type { ThreadSnapshot } from "./snapshot.ts";

/** A run that was in progress when the server was killed. */
export interface CutRun {
  thread: string;
  run: string;
  /** The nodes of the complete run, in order. Each finishes exactly once. */
  nodes: string[];
  /** What its reader had received. */
  seen: Seen;
}

export interface Threads {
  rest: ThreadSnapshot[];
  /** A checkpoint in the middle of the long thread. */
  middle: { thread: string; checkpoint: string; values: string };
  cut: CutRun[];
  /** All runs of a thread with queued runs, in order, and the number of messages after them. */
  queued: { thread: string; runs: string[]; messages: number }[];
  /** Interrupted threads. The test resumes one with a run and one with a command of the streaming protocol. */
  waiting: { by: "run" | "command"; thread: string; interrupt: string }[];
  /** Has a TTL of a hundred years. */
  lasting: { thread: string; expires_at: string };
  /** Has a TTL of one minute. */
  expired: string;
  /** The thread of a stateless run with `on_completion: keep`. */
  kept: string;
  /** A completed run whose webhook is not delivered. */
  webhook: { thread: string; run: string };
  /** A stateless run in progress. Its thread is deleted after it. */
  stateless: string;
  /** Runs that must each have exactly one trace after the upgrade. */
  traced: string[];
}

export interface A2aTasks {
  /** Has a push notification that is not delivered. */
  waiting: { task: string; context: string };
  /** In progress when the server was killed. `ends_with`: the end of its text. */
  cut: { task: string; ends_with: string };
}

export interface TraceProject {
  id: string;
  name: string;
  /** The number of trace runs, and the digest of their sorted ids. */
  rows: number;
  ids: string;
}

export interface Traces {
  projects: TraceProject[];
  /** A run whose payloads are stored in R2. */
  large: { run: string; inputs: string; outputs: string };
  attachment: { run: string; name: string; sha256: string };
  feedback: { run: string; items: { id: string; key: string; score: number | null; comment: string | null }[] };
  /** The path of a presigned feedback link. */
  link: { run: string; key: string; path: string };
  dataset: { id: string; name: string; experiment: string };
}

export interface CompletedRun {
  id: string;
  finished_at: string;
  metadata: { result: { rows_written: number; exported_files: string[] } };
}

/** A completed export that the schedule has spawned. */
export interface ExportWindow {
  id: string;
  start_time: string;
  end_time: string;
  status: string;
  finished_at: string;
}

export interface Exports {
  /** One export to the embedded bucket, and one to an S3 endpoint with credentials. */
  jobs: { id: string; rows: number; ids: string; completed: CompletedRun[] }[];
  schedule: { id: string; start_time: string; interval_hours: number; windows: ExportWindow[] };
}

export interface OAuth {
  client: string;
  redirect_uri: string;
  verifier: string;
  /** A pair of unused tokens. */
  tokens: { access_token: string; refresh_token: string };
  /** An exchanged refresh token and its successor. */
  rotated: { old: string; refresh_token: string };
  revoked: string;
  /** An authorization code that is not redeemed. */
  code: string;
  grants: number;
}

export interface Rest {
  assistant: { active: Record<string, unknown>; versions: Record<string, unknown>[] };
  deleted_assistant: string;
  keys: { admin: string; read: string; deleted: string };
  crons: Record<string, unknown>[];
  /** The cron that fires every half hour and keeps its threads. */
  due_cron: string;
  items: { namespace: string[]; key: string; value: Record<string, unknown> }[];
  expired_item: { namespace: string[]; key: string };
  idempotent: { key: string; path: string; body: unknown; answer: Record<string, unknown> };
}

export interface Manifest {
  name: string;
  /** When the state was packed: ISO 8601. */
  made_at: string;
  /** The address of the server that wrote the state. */
  url: string;
  /** Generated for this fixture. */
  secrets: { ENCRYPTION_KEY: string; WEIR_ADMIN_KEY: string };
  workspace_id: string;
  key: string;
  /**
   * SQL on the packed files, in the layout of the release that wrote them. It moves expiry times, which
   * otherwise depend on the calendar, and replaces addresses. `:shift` is the age of the fixture in milliseconds, `:from` and `:to` the old
   * and new address of the server, `:receiver` the address that gets webhooks and push notifications.
   */
  prepare: { d1: string[]; thread: string[] };
  threads: Threads;
  a2a: A2aTasks;
  traces: Traces;
  exports: Exports;
  oauth: OAuth;
  rest: Rest;
}
