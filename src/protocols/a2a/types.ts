/** A2A's nouns, in neither generation's spelling: dialect.ts writes them in either. */
import type { Json } from "../../lib/json.ts";

/** 0.3 answers to `message/send`, 1.0 to `SendMessage`: the method's name selects the generation. */
export type Generation = "0.3" | "1.0";

export const STATES = [
  "submitted",
  "working",
  "input-required",
  "auth-required",
  "completed",
  "canceled",
  "failed",
  "rejected",
] as const;
export type State = (typeof STATES)[number];

const TERMINAL: readonly State[] = ["completed", "canceled", "failed", "rejected"];
export const isTerminal = (state: State): boolean => TERMINAL.includes(state);
/** No more updates follow: the task has ended, or it waits for the caller. */
export const isSettled = (state: State): boolean =>
  isTerminal(state) || state === "input-required" || state === "auth-required";

/** One of `text`, `raw` (base64), `url`, `data`. */
export interface Part {
  text?: string;
  raw?: string;
  url?: string;
  data?: unknown;
  filename?: string;
  mediaType?: string;
  metadata?: Json;
}

export interface Message {
  messageId: string;
  role: "user" | "agent";
  parts: Part[];
  contextId?: string;
  taskId?: string;
  referenceTaskIds?: string[];
  extensions?: string[];
  metadata?: Json;
}

export interface Artifact {
  artifactId: string;
  name?: string;
  description?: string;
  parts: Part[];
  metadata?: Json;
  extensions?: string[];
}

export interface Status {
  state: State;
  message?: Message;
  /** ISO 8601, UTC, with "Z". */
  timestamp: string;
}

export interface Task {
  id: string;
  contextId: string;
  status: Status;
  artifacts: Artifact[];
  history: Message[];
}

export type Update =
  | { kind: "status"; status: Status; metadata?: Json }
  | { kind: "artifact"; artifact: Artifact; append: boolean; lastChunk: boolean }
  | { kind: "message"; message: Message };

/** Where to send a task's changes, and with what credentials. */
export interface PushConfig {
  id?: string;
  url: string;
  token?: string;
  authentication?: { scheme: string; credentials?: string };
}
