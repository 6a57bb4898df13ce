/** What clients saw of a fixture's server before it was killed. Kept as JSON beside the packed state. */
import type { Seen } from "./log.ts";
import type { ThreadSnapshot } from "./snapshot.ts";

/** A run that was cut off by the kill. */
export interface CutRun {
  thread: string;
  run: string;
  /** The nodes that must have finished, once each, when the run has ended. */
  nodes: string[];
  /** What its reader had when the server died. */
  seen: Seen;
}

export interface Threads {
  rest: ThreadSnapshot[];
  /** The state in the middle of the long thread. */
  middle: { thread: string; checkpoint: string; values: string };
  cut: CutRun[];
  /** Runs behind a cut one on its thread, in order, and one whose time had not come. */
  queued: { thread: string; runs: string[]; messages: number }[];
  /** Threads that wait for a decision: answered by a run, and by a command of the streaming protocol. */
  waiting: { by: "run" | "command"; thread: string; interrupt: string }[];
  /** Has a lifetime of a hundred years. */
  lasting: { thread: string; expires_at: string };
  /** Had a lifetime of a minute. */
  expired: string;
  /** Was made by a stateless run that keeps its thread. */
  kept: string;
  /** Has ended, and its webhook could not be delivered. */
  webhook: { thread: string; run: string };
  /** A stateless run that was at work, and whose thread goes with it. */
  stateless: string;
  /** Runs whose traces the release under test must find, once each. */
  traced: string[];
}

export interface A2aTasks {
  /** Has a receiver of push notifications. */
  waiting: { task: string; context: string };
  /** Was working when the server died; the text it ends with. */
  cut: { task: string; ends_with: string };
}

export interface TraceProject {
  id: string;
  name: string;
  /** Trace runs, and the digest of their ids in order. */
  rows: number;
  ids: string;
}

export interface Traces {
  projects: TraceProject[];
  /** Payloads that lie in R2. */
  large: { run: string; inputs: string; outputs: string };
  attachment: { run: string; name: string; sha256: string };
  feedback: { run: string; items: { id: string; key: string; score: number | null; comment: string | null }[] };
  /** A link that takes feedback without a key: its path. */
  link: { run: string; key: string; path: string };
  dataset: { id: string; name: string; experiment: string };
}

export interface CompletedRun {
  id: string;
  finished_at: string;
  metadata: { result: { rows_written: number; exported_files: string[] } };
}

/** An export that a schedule has spawned and that has ended. */
export interface ExportWindow {
  id: string;
  start_time: string;
  end_time: string;
  status: string;
  finished_at: string;
}

export interface Exports {
  /** In the embedded bucket, and through an endpoint with credentials. */
  jobs: { id: string; rows: number; ids: string; completed: CompletedRun[] }[];
  schedule: { id: string; start_time: string; interval_hours: number; windows: ExportWindow[] };
}

export interface OAuth {
  client: string;
  redirect_uri: string;
  verifier: string;
  /** A pair of tokens that nobody used. */
  tokens: { access_token: string; refresh_token: string };
  /** A refresh token that was exchanged, and its successor. */
  rotated: { old: string; refresh_token: string };
  revoked: string;
  /** Not redeemed. */
  code: string;
  grants: number;
}

export interface Rest {
  assistant: { active: Record<string, unknown>; versions: Record<string, unknown>[] };
  deleted_assistant: string;
  keys: { admin: string; read: string; deleted: string };
  crons: Record<string, unknown>[];
  /** Of `crons`: fires every half hour and keeps its threads. */
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
  /** Made for this fixture only. */
  secrets: { ENCRYPTION_KEY: string; WEIR_ADMIN_KEY: string };
  workspace_id: string;
  key: string;
  /**
   * SQL on the packed files, in the layout of the release that wrote them. It sets clocks that would otherwise run out
   * with the calendar, and addresses. `:shift` is the age of the fixture in milliseconds, `:from` and `:to` the address
   * of the server then and now, `:receiver` the one that gets webhooks and push notifications.
   */
  prepare: { d1: string[]; thread: string[] };
  threads: Threads;
  a2a: A2aTasks;
  traces: Traces;
  exports: Exports;
  oauth: OAuth;
  rest: Rest;
}
