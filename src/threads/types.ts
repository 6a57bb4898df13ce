/** What a thread, its runs and its states look like on the wire, and the values that they are made of. */
import * as v from "valibot";
import type { WaitingState } from "../agents/graphs/compatibility.ts";
import { AnyObject, Count, Id, open, Time } from "../http/shapes.ts";
import type { Json } from "../lib/json.ts";
import { isUuid, deriveUuid } from "../lib/uuid.ts";
import { remoteProblem } from "../lib/problem.ts";

/** Through what a response came. */
export type ResponseChannel = "api" | "console" | "link" | "webhook" | "mcp" | "a2a" | "agui" | "cron" | "run";

/** Who makes a run that answers. */
export interface Actor {
  kind: string;
  credentialId: string;
  user?: string;
  via: ResponseChannel;
  /** For whom the link was made that was answered. */
  name?: string;
  address?: string;
  agent?: string;
}

/** The one answer that a question has taken. */
export interface AcceptedResponse {
  via: ResponseChannel;
  name?: string;
  /** Milliseconds since 1970. */
  at: number;
  run_id: string;
}

/** What a link is made for. */
export interface NewLink {
  link_id: string;
  interrupt_id: string;
  name?: string;
  /** The answers that it accepts; all when absent. For an action to review these are types of decision. */
  answers?: unknown[];
  /** Milliseconds since 1970. */
  expires: number;
  by: { kind: string; credentialId: string };
}

export interface InterruptLink extends NewLink {
  /**
   * How many answers the question's id had taken when the link was made. LangGraph gives the questions that one task asks one after
   * another the same id, so the id alone does not say which of them the link is for.
   */
  turn: number;
  created: number;
}

/** Where the question of a link stands. */
export type LinkState =
  | { state: "waits"; link: InterruptLink; value: unknown; graph_id: string }
  | { state: "answered"; link: InterruptLink; first: AcceptedResponse }
  | { state: "gone"; link: InterruptLink };

export interface ResponseByLink {
  run_id: string;
  answer: unknown;
  actor: Actor;
}

/** What the call of a run's webhook asks: the ids of the links of its questions. */
export interface InterruptsOfDelivery {
  run_id: string;
  links: string[];
}

/** What a thread does about links, for the rest of Weir. */
export interface LinkRpc {
  /** 404 when the interrupt does not wait, 409 when it has been answered, or cannot be answered by a link. */
  makeLink(link: NewLink): Promise<InterruptLink>;
  /**
   * The link that the server itself gives out for the question through this channel: made once, and again when it has expired.
   * Undefined when the question cannot be answered by a link.
   */
  ownLink(interruptId: string, via: ResponseChannel): Promise<InterruptLink | undefined>;
  /** The links of an interrupt, with their state, oldest first. */
  listLinks(interruptId: string): Promise<LinkState[]>;
  /** Revokes a link. False when there is none. */
  removeLink(interruptId: string, linkId: string): Promise<boolean>;
  /** Undefined when there is no such link, or no longer. */
  linkState(linkId: string): Promise<LinkState | undefined>;
  /** Starts the run that resumes with the answer, if the question waits. Else says where it stands. */
  respondByLink(
    linkId: string,
    given: ResponseByLink,
  ): Promise<LinkState | { state: "accepted"; run_id: string } | undefined>;
  /** The answers that the thread's questions have taken, by the ids of the questions: the last one of each. */
  acceptedResponses(interruptIds: string[]): Promise<Record<string, AcceptedResponse>>;
}

const RunStatus = v.picklist(["pending", "running", "success", "error", "timeout", "interrupted"]);
export type RunStatus = v.InferOutput<typeof RunStatus>;
const ThreadStatus = v.picklist(["idle", "busy", "interrupted", "error"]);
export type ThreadStatus = v.InferOutput<typeof ThreadStatus>;
const MultitaskStrategy = v.picklist(["reject", "enqueue", "interrupt", "rollback"]);
export type MultitaskStrategy = v.InferOutput<typeof MultitaskStrategy>;
export type CancelAction = "interrupt" | "rollback";

/** Why a run is stopped before its graph ends. */
export type StopReason = CancelAction | "timeout";

/** What a run failed with. */
export type RunError = v.InferOutput<typeof RunError>;
const RunError = v.object({ error: v.string(), message: v.string() });

/** A question of a graph. */
export type Interrupt = v.InferOutput<typeof Interrupt>;
// An interrupt of LangGraph before 1.0 also says `ns`, `when` and `resumable`.
const Interrupt = open({ id: v.optional(v.string()), value: v.optional(v.unknown()) });

/** Those that wait for an answer, by the task that raised them. */
export type Interrupts = v.InferOutput<typeof Interrupts>;
const Interrupts = v.record(v.string(), v.array(Interrupt));

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
  /** Through what it was given an answer, if it was. */
  via?: ResponseChannel;
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
export type Run = v.InferOutput<typeof Run>;
const openRun = {
  run_id: Id,
  thread_id: Id,
  assistant_id: v.string(),
  created_at: Time,
  updated_at: Time,
  status: RunStatus,
  metadata: AnyObject,
  multitask_strategy: MultitaskStrategy,
  /** Of a run that answers a question: through what, and for whom the link was made. */
  answered: v.optional(v.object({ via: v.string(), name: v.optional(v.string()) })),
  /** Of a run that waits for slots of flow control: its place (1: the next), and which slots are taken. */
  position: v.optional(v.number()),
  waiting_for: v.optional(v.array(v.object({ rule: v.string(), key: v.string(), reason: v.string() }))),
  /** What is spent of its budgets. Of one a day: what this run has. */
  budgets: v.optional(
    v.array(
      v.object({
        budget: v.string(),
        per: v.string(),
        key: v.string(),
        unit: v.string(),
        spent: v.number(),
        limit: v.number(),
      }),
    ),
  ),
};
export const Run = v.pipe(v.object({ ...openRun, kwargs: AnyObject }), v.title("Run"));

/** A run in a list over many threads: without what it was given. */
export type OpenRun = v.InferOutput<typeof OpenRun>;
export const OpenRun = v.pipe(
  v.object({
    ...openRun,
    /** How often it was started; more than once after a crash. */
    attempt: v.number(),
  }),
  v.title("OpenRun"),
);

export interface Ttl {
  strategy: "delete" | "keep_latest";
  ttl_minutes: number;
}

export type Thread = v.InferOutput<typeof Thread>;
export const Thread = v.pipe(
  v.object({
    thread_id: Id,
    created_at: Time,
    updated_at: Time,
    state_updated_at: Time,
    status: ThreadStatus,
    metadata: AnyObject,
    config: AnyObject,
    values: v.nullable(AnyObject),
    interrupts: Interrupts,
    error: v.optional(RunError),
    ttl: v.optional(
      v.object({ strategy: v.picklist(["delete", "keep_latest"]), ttl_minutes: v.number(), expires_at: Time }),
    ),
  }),
  v.title("Thread"),
);

/** A thread in the answer of a search. */
export const FoundThread = v.pipe(
  v.object({ ...Thread.entries, extracted: v.optional(AnyObject) }),
  v.title("FoundThread"),
);

/** Where a thread stands in its graph. */
export interface WaitingThread {
  graph_id: string;
  places: WaitingState[];
}

/** A thread's status between two runs. */
export interface ThreadSummary {
  /** Of the run that has begun last. */
  assistantId?: string;
  graphId?: string;
  busy: boolean;
  /** The ids of the interrupts that wait for an answer. */
  interrupts: string[];
  /** The assistants whose runs have raised them, by these ids; without those that were raised on the thread of which this one is a copy. */
  raisedBy: Record<string, string>;
}

const Checkpoint = v.pipe(
  v.object({
    thread_id: v.string(),
    checkpoint_ns: v.optional(v.string()),
    checkpoint_id: v.optional(v.nullable(v.string())),
    checkpoint_map: v.optional(v.nullable(AnyObject)),
  }),
  v.title("Checkpoint"),
);

const Task = v.pipe(
  v.object({
    id: v.string(),
    name: v.string(),
    path: v.nullable(v.array(v.unknown())),
    error: v.nullable(v.string()),
    interrupts: v.array(Interrupt),
    checkpoint: v.nullable(Checkpoint),
    state: v.pipe(v.nullable(AnyObject), v.description("The state of a nested graph, with `subgraphs`.")),
    result: v.unknown(),
  }),
  v.title("Task"),
);

/** What clients read of a state. Code that only passes it on knows less of it: `ThreadState`. */
export const StateBody = v.pipe(
  v.object({
    values: v.unknown(),
    next: v.array(v.string()),
    tasks: v.array(Task),
    metadata: v.nullable(AnyObject),
    created_at: v.nullable(v.string()),
    checkpoint: v.nullable(Checkpoint),
    parent_checkpoint: v.nullable(Checkpoint),
    interrupts: v.array(Interrupt),
  }),
  v.title("ThreadState"),
);

/** A state in the answer of a history with `extract`. */
export const PastState = v.pipe(
  v.object({ ...StateBody.entries, extracted: v.optional(AnyObject) }),
  v.title("PastState"),
);

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

export const UpdatedState = v.object({ checkpoint: open({ thread_id: v.string() }) });

const amount = { count: Count, bytes: Count };
const Amount = v.object(amount);
export type StorageFigures = v.InferOutput<typeof StorageFigures>;
export const StorageFigures = v.object({
  total_bytes: Count,
  checkpoints: Amount,
  channel_values: v.object({
    ...amount,
    by_channel: v.record(v.string(), v.object({ versions: Count, bytes: Count })),
  }),
  pending_writes: Amount,
});

/** The final values of a run, with `__interrupt__` where it paused, or `__error__`. A graph whose state is no object gives any value. */
export const RunResult = v.union([
  v.object({ __error__: RunError }),
  open({ __interrupt__: v.optional(v.array(Interrupt)) }),
  v.unknown(),
]);

// Ids of threads, and the names of their objects.

/**
 * The thread of a name, such as an A2A `contextId`. A UUID is the thread's own id; any other text, which callers are free
 * to choose, leads to the same UUID each time: a user's own, so that users may choose the same.
 */
export function deriveThreadId(name: string, user?: string): string {
  if (isUuid(name)) return name.toLowerCase();
  return deriveUuid(`a2a context ${user === undefined ? name : JSON.stringify([user, name])}`);
}

/** The name of a thread's object. It holds the workspace, so another workspace's id leads to an object that is empty. */
export const objectName = (workspaceId: string, threadId: string): string => `${workspaceId}:${threadId}`;

/** The ids that a thread's object has in its name. */
export function parseObjectName({ name = "" }: DurableObjectId): { workspaceId: string; threadId: string } {
  const colon = name.indexOf(":");
  return { workspaceId: name.slice(0, colon), threadId: name.slice(colon + 1) };
}

/** A thread in messages of errors: the same for one that does not exist and one that the caller may not see. */
export const threadName = (id: string): string => `Thread with ID ${id}`;

/** The 404 of a thread, thrown inside of its object. */
export const threadNotFound = (id: string): Error => remoteProblem(404, `${threadName(id)} not found.`);
