/** The history of a test: what each client requested, when, and what it got. The rules (rules/) read nothing else. */
import type { Shown } from "./shown.ts";

export type Role = "echo" | "approval" | "agent";
export type Strategy = "enqueue" | "reject" | "interrupt" | "rollback";

/**
 * `ok`: answered with 2xx. `refused`: answered with 4xx, so it changed nothing. `unknown`: the connection broke, no answer came
 * in time, or the answer was a 5xx, so it may have been carried out, also later.
 */
export type Outcome = "ok" | "refused" | "unknown";

/** The client that looks at everything once the work has ended. */
export const AUDITOR = -1;

export interface Base {
  client: number;
  /** When it was requested and when its answer was complete: milliseconds of one clock that never goes back. */
  at: number;
  until: number;
  outcome: Outcome;
  /** The status of a refusal, or why the outcome is unknown. */
  detail?: string;
  thread: string;
}

export interface Answer {
  /** The interrupt that the request names, or the one that its client last saw. */
  interrupt: string;
  /** The text that the question is about. */
  about: string;
  type: "approve" | "reject";
  /** Whether the request names the interrupt and the server must refuse it when that does not wait. */
  strict: boolean;
}

/** A request for a run. `text` is unique, and also in the metadata of the run. */
export interface Start extends Base {
  kind: "start";
  via: "background" | "stream" | "wait" | "command";
  role: Role;
  text: string;
  /** Known when the server has accepted it. */
  run?: string;
  strategy?: Strategy;
  /** Milliseconds that the run must wait at least. */
  delay?: number;
  answer?: Answer;
  /** The Idempotency-Key. */
  key?: string;
  /** The answer of /wait. */
  values?: Shown;
}

export interface RunSeen {
  run: string;
  status: string;
  /** The text of its request. */
  text?: string;
}

export interface Frame {
  id?: string;
  event: string;
  /** JSON. */
  data: string;
  /** When it came. */
  at: number;
}

export interface StateSeen extends Shown {
  checkpoint?: string;
  parent?: string;
  /** The run that wrote it. */
  run?: string;
  source?: string;
  next: string[];
}

export interface ThreadSeen {
  thread: string;
  status: string;
  values?: Shown;
}

export type Operation =
  | Start
  | (Base & { kind: "create thread" })
  | (Base & { kind: "update"; text: string })
  | (Base & { kind: "cancel"; run: string; action: "interrupt" | "rollback"; wait: boolean })
  | (Base & { kind: "delete run"; run: string })
  | (Base & { kind: "copy"; copy?: string })
  | (Base & { kind: "state"; state?: StateSeen })
  | (Base & { kind: "history"; states: StateSeen[]; complete: boolean })
  | (Base & { kind: "thread"; seen?: ThreadSeen })
  | (Base & { kind: "search"; found: ThreadSeen[] })
  /** `seen` is absent when the server has no such run. */
  | (Base & { kind: "run"; run: string; seen?: RunSeen })
  | (Base & { kind: "runs"; runs: RunSeen[]; complete: boolean })
  | (Base & { kind: "join"; run: string; values?: Shown })
  /**
   * A connection to the stream of a run, or, without `run`, to that of the thread. `modes` are the stream modes or channels, `after`
   * is the id that it resumed after ("-1" for the beginning), `ended` whether the server ended it. Only a `resumable` stream has its past.
   */
  | (Base & {
      kind: "read";
      run?: string;
      modes: string;
      after: string;
      resumable: boolean;
      frames: Frame[];
      ended: boolean;
    });

export type Kind = Operation["kind"];
export type Of<K extends Kind> = Extract<Operation, { kind: K }>;

/** What the server supports, which decides what the rules expect. */
export interface Features {
  name: string;
  weir: boolean;
  /** Refuses an answer to a question that does not wait. */
  strictResume: boolean;
  /** Implements the commands and events of the thread-centric streaming protocol. */
  protocol: boolean;
}

export interface History {
  seed: number;
  features: Features;
  /** The longest time until a search shows what a read of the thread shows, milliseconds. */
  searchBound: number;
  operations: Operation[];
}

export const now = (): number => performance.now();
