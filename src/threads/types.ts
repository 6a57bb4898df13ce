/** What a thread, its runs and its states look like on the wire, and the values that they are made of. */
import type { Json } from "../json.ts";

export type RunStatus = "pending" | "running" | "success" | "error" | "timeout" | "interrupted";
export type ThreadStatus = "idle" | "busy" | "interrupted" | "error";
export type MultitaskStrategy = "reject" | "enqueue" | "interrupt" | "rollback";
export type CancelAction = "interrupt" | "rollback";

/** Why a run is stopped before its graph ends. */
export type StopReason = CancelAction | "timeout";

/** What a run failed with. */
export interface RunError {
  error: string;
  message: string;
}

/** A question of a graph. */
export interface Interrupt {
  id?: string;
  value: unknown;
}

/** Those that wait for an answer, by the task that raised them. */
export type Interrupts = Record<string, Interrupt[]>;

export interface CheckpointAddress {
  checkpoint_id?: string | null;
  checkpoint_ns?: string;
  checkpoint_map?: Json | null;
}

/** A run of a task, with what the run alone does not show on the wire. */
export interface TaskRun extends Run {
  configurable: Json;
  /** The sequence numbers of its first and last event, once there are such. */
  first_seq?: number;
  last_seq?: number;
  /** Set when it was stopped. */
  stopped?: StopReason;
}

/** Runs that belong to one piece of work: one that paused, and those that took it up again. */
export interface TaskView {
  /** In the order of their creation. */
  runs: TaskRun[];
  /** When it was cancelled while it waited; milliseconds since the epoch. */
  canceled?: number;
  /** The questions of its last run that the thread still waits on. */
  waiting: Interrupt[];
  hooks: Record<string, Json>;
}

/** A run as the Agent Server's clients read it. */
export interface Run {
  run_id: string;
  thread_id: string;
  assistant_id: string;
  created_at: string;
  updated_at: string;
  status: RunStatus;
  metadata: Json;
  multitask_strategy: MultitaskStrategy;
  kwargs: Json;
  /** Of a run that waits for slots of flow control: its place (1: the next), and which slots are taken. */
  position?: number;
  waiting_for?: { rule: string; key: string; reason: string }[];
  /** What is spent of its budgets. Of one a day: what this run has. */
  budgets?: { budget: string; per: string; key: string; unit: string; spent: number; limit: number }[];
}

/** A run in a list over many threads: without what it was given. */
export type OpenRun = Omit<Run, "kwargs">;

export interface Thread {
  thread_id: string;
  created_at: string;
  updated_at: string;
  state_updated_at: string;
  status: ThreadStatus;
  metadata: Json;
  config: Json;
  values: Json | null;
  interrupts: Interrupts;
  error?: RunError;
  ttl?: Ttl & { expires_at: string };
}

/** A thread's status between two runs. */
export interface Standing {
  assistantId?: string;
  graphId?: string;
  busy: boolean;
  /** The ids of the interrupts that wait for an answer. */
  interrupts: string[];
}

export interface Ttl {
  strategy: "delete" | "keep_latest";
  ttl_minutes: number;
}

export interface ThreadState {
  values: unknown;
  next: string[];
  tasks: Json[];
  metadata: Json | null;
  created_at: string | null;
  checkpoint: Json | null;
  parent_checkpoint: Json | null;
  interrupts: unknown[];
}

export interface StorageFigures {
  total_bytes: number;
  checkpoints: { count: number; bytes: number };
  channel_values: { count: number; bytes: number; by_channel: Record<string, { count: number; bytes: number }> };
  pending_writes: { count: number; bytes: number };
}
