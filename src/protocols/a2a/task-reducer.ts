/**
 * A task out of the log: the events of its runs are the input, in order. The output is the updates, and the task's
 * current state. Streams, answers and lists all come from this one place, so they cannot differ.
 */
import * as v from "valibot";
import { isObject, JsonObject, type Json, parseJson } from "../../lib/json.ts";
import { parse } from "../../http/validate.ts";
import { checkCustom, type LogEvent } from "../../threads/log/events.ts";
import {
  type A2aPart,
  toPart,
  type A2aArtifact as TaskArtifact,
  type A2aMessage as TaskMessage,
  type TaskState,
  type TaskStatus,
  type A2aTask,
  type TaskUpdate,
} from "./types.ts";
import type { TaskRun } from "../../threads/types.ts";
import { promptParts } from "./interrupts.ts";

// Events of a graph for A2A callers, sent with its writer: `config.writer({a2a: {...}})`. See docs/a2a.md.

const OwnPart = v.pipe(
  v.object({
    text: v.optional(v.string()),
    raw: v.optional(v.string()),
    url: v.optional(v.string()),
    data: v.optional(v.unknown()),
    filename: v.optional(v.string()),
    mediaType: v.optional(v.string()),
    metadata: v.optional(JsonObject),
  }),
  v.check(
    ({ text, raw, url, data }) => [text, raw, url, data].filter((one) => one !== undefined).length === 1,
    "must hold exactly one of: text, raw, url, data",
  ),
  v.transform((part): A2aPart => part),
);
const Parts = v.pipe(v.array(OwnPart), v.minLength(1, "must hold at least one part"));
const Strings = v.optional(v.array(v.string()));

const Artifact = v.object({
  artifactId: v.optional(v.string()),
  name: v.optional(v.string()),
  description: v.optional(v.string()),
  parts: Parts,
  metadata: v.optional(JsonObject),
  extensions: Strings,
  append: v.optional(v.boolean(), false),
  lastChunk: v.optional(v.boolean()),
});
const Text = v.pipe(
  v.string(),
  v.transform((text): A2aPart[] => [{ text }]),
);
const Status = v.object({
  state: v.picklist(["working", "input-required", "auth-required", "completed", "failed", "rejected"]),
  message: v.optional(v.union([Text, Parts], "must be a text or a list of parts")),
  metadata: v.optional(JsonObject),
});
const Message = v.object({
  parts: Parts,
  metadata: v.optional(JsonObject),
  extensions: Strings,
  referenceTaskIds: Strings,
});

export type TaskEvent =
  | { artifact: v.InferOutput<typeof Artifact> }
  | { status: v.InferOutput<typeof Status> }
  | { message: v.InferOutput<typeof Message> };

/** The event for A2A callers; throws a 422 that says what is wrong with it. */
function readTask(a2a: unknown): TaskEvent {
  const given = isObject(a2a) ? a2a : {};
  if ("artifact" in given) return { artifact: parse(Artifact, given.artifact, "a2a.artifact") };
  if ("status" in given) return { status: parse(Status, given.status, "a2a.status") };
  if ("message" in given) return { message: parse(Message, given.message, "a2a.message") };
  throw new Error("Invalid a2a: must be an object with artifact, status or message");
}

const isOurs = (data: unknown): data is { a2a: unknown } => isObject(data) && "a2a" in data;

// The error is thrown in the node that writes the event.
checkCustom((data) => {
  if (isOurs(data)) readTask(data.a2a);
});

/**
 * The content of a custom event for A2A callers. Undefined for other events, and for what a graph
 * has made look like one of them.
 */
export function readTaskEvent(data: unknown): TaskEvent | undefined {
  if (!isOurs(data)) return undefined;
  try {
    return readTask(data.a2a);
  } catch {
    return undefined;
  }
}

/** A message of the graph that is being said. Its last part is held back, so that it can be marked as the last chunk. */
interface Open {
  artifactId: string;
  held?: A2aPart;
  begun: boolean;
}

/** One task on its way through the log. */
export class TaskReducer {
  /** The last event taken in. */
  seq = 0;
  /** Whether the run that is being read was stopped. Set it before its end is taken in. */
  stopped = false;
  #status: TaskStatus = { state: "submitted", timestamp: new Date(0).toISOString() };
  #artifacts = new Map<string, TaskArtifact>();
  #history: TaskMessage[] = [];
  #open = new Map<string, Open>();
  /** Artifacts that a crash cut off: what is said again takes their place. */
  #cutOff: string[] = [];
  #asked: { id: string; value: unknown }[] = [];
  /** The state that the graph itself has given. */
  #own: { state: TaskState; parts?: A2aPart[]; metadata?: Json } | undefined;
  /** The artifact of the last message that was said to its end: the answer, unless another message follows. */
  #answer: string | undefined;
  /** A message that was no answer, while it is the status message: the history has it next. */
  #earlier: TaskMessage | undefined;
  #run = "";
  #count = 0;
  /** Set when the graph answered with a message instead of a task. */
  direct: TaskMessage | undefined;

  constructor(private readonly ids: { taskId: string; contextId: string }) {}

  get state(): TaskState {
    return this.#status.state;
  }

  /** Nothing has been said that a caller would see. */
  get silent(): boolean {
    return this.#artifacts.size === 0 && this.#open.size === 0 && !this.#own && !this.direct;
  }

  /** Its last run paused with a question. */
  get asks(): boolean {
    return this.#status.state === "input-required" && this.#asked.length > 0;
  }

  /** The ids of the questions that the task waits on. */
  get questions(): string[] {
    return this.#asked.map(({ id }) => id);
  }

  /** Adds the links by which the questions are answered to the status that asks them. */
  offer(links: { interrupt_id: string; answer_url: string; expires_at: string }[]): TaskUpdate {
    const metadata = { interrupts: this.questions, answer_links: links };
    const { message } = this.#status;
    this.#status = { ...this.#status, ...(message && { message: { ...message, metadata } }) };
    return { kind: "status", status: this.#status, metadata };
  }

  /** A run of the task, before its first event. */
  begin(run: Pick<TaskRun, "run_id" | "created_at" | "configurable" | "via">): void {
    const { message } = (run.configurable.a2a ?? {}) as { message?: TaskMessage };
    if (this.#status.message) this.#history.push(this.#status.message);
    // A question that was answered elsewhere was answered without a message. A run that resumes by a link has the config of the one before.
    if (message && (run.via ?? "a2a") === "a2a") this.#history.push({ ...message, ...this.ids });
    this.#status = { state: "submitted", timestamp: run.created_at };
    this.#run = run.run_id;
    this.stopped = false;
    this.#cutOff = [];
    this.#asked = [];
    this.#own = undefined;
  }

  /** The task now. What was held back counts as said. */
  task(): A2aTask {
    const at = Date.parse(this.#status.timestamp);
    for (const open of this.#open.values()) this.#kept(this.#release(open, false), at);
    const { taskId: id, contextId } = this.ids;
    return { id, contextId, status: this.#status, artifacts: [...this.#artifacts.values()], history: this.#history };
  }

  /** It was given up while it waited. */
  cancel(at: number): TaskUpdate {
    return this.#become("canceled", at);
  }

  apply(event: LogEvent): TaskUpdate[] {
    this.seq = event.seq;
    return this.#kept(this.#updates(event), event.ts);
  }

  /** A result of the run that no event contains: one more artifact. */
  result(data: unknown): TaskUpdate {
    const artifact = { artifactId: `${this.#run}-result`, name: "Result", parts: [{ data }] };
    const update: TaskUpdate = { kind: "artifact", artifact, append: false, lastChunk: true };
    this.#keep(update);
    return update;
  }

  #updates({ method, ns, data, ts, node }: LogEvent): TaskUpdate[] {
    if (method === "messages") return ns.length === 1 && node !== undefined ? this.#message(data as Json) : [];
    if (method === "custom") return this.#told(readTaskEvent(data), ts);
    if (method === "metadata") return this.#again();
    if (method === "input.requested") {
      const { interrupt_id, payload } = data as { interrupt_id: string; payload: unknown };
      this.#asked.push({ id: interrupt_id, value: payload });
      return [];
    }
    return method === "lifecycle" && ns.length === 0 ? this.#lifecycle(data as Json, ts) : [];
  }

  #lifecycle({ event, error }: Json, ts: number): TaskUpdate[] {
    const rest = [...this.#open.values()].flatMap((open) => this.#release(open, true));
    switch (event) {
      case "running":
        return this.#status.state === "working" ? [] : [this.#become("working", ts)];
      case "completed":
        this.#close();
        return [
          ...rest,
          this.#become(
            this.#own?.state ?? "completed",
            ts,
            this.#own?.parts ?? this.direct?.parts,
            this.#own?.metadata,
          ),
        ];
      case "interrupted": {
        this.#close();
        if (this.#asked.length === 0 && this.stopped) return [...rest, this.#become("canceled", ts)];
        const metadata = { interrupts: this.questions };
        return [...rest, this.#become("input-required", ts, promptParts(this.#asked), metadata)];
      }
      case "failed":
        this.#close();
        return [...rest, this.#become("failed", ts, [{ text: failure(error) }])];
      default:
        return [];
    }
  }

  /** The run has ended: what was being said has been said. */
  #close(): void {
    for (const { artifactId, begun } of this.#open.values()) if (begun) this.#answer = artifactId;
    this.#open.clear();
  }

  #message(event: Json): TaskUpdate[] {
    const key = String(event.run_id);
    if (event.event === "message-start") {
      if (event.role === undefined || event.role === "ai") {
        const artifactId = this.#cutOff.shift() ?? String(event.id);
        this.#open.set(key, { artifactId, begun: false });
      }
      return [];
    }
    const open = this.#open.get(key);
    if (!open) return [];
    if (event.event === "content-block-delta") {
      const { type, text } = event.delta as Json;
      return type === "text-delta" && typeof text === "string" && text ? this.#say(open, { text }) : [];
    }
    if (event.event === "content-block-finish") {
      // Text has come as deltas already.
      const part = toPart(event.content as Json);
      return part && part.text === undefined ? this.#say(open, part) : [];
    }
    if (event.event !== "message-finish" && event.event !== "error") return [];
    this.#open.delete(key);
    const updates = this.#release(open, true);
    if (open.begun) this.#answer = open.artifactId;
    return updates;
  }

  /**
   * What a message that follows another changes: only the last one is the answer, and callers read the first artifact. The
   * earlier one becomes a status message, and the later one takes over its artifact. Messages that are said at once have
   * artifacts of their own.
   */
  #before(update: TaskUpdate, ts: number): TaskUpdate[] {
    if (update.kind !== "artifact" || update.append) return [];
    const open = [...this.#open.values()].find(({ artifactId }) => artifactId === update.artifact.artifactId);
    const earlier = this.#answer === undefined ? undefined : this.#artifacts.get(this.#answer);
    if (!open || !earlier || earlier.artifactId === open.artifactId) return [];
    this.#answer = undefined;
    open.artifactId = earlier.artifactId;
    update.artifact.artifactId = earlier.artifactId;
    const status = this.#become("working", ts, earlier.parts);
    this.#earlier = this.#status.message;
    if (this.#earlier) this.#earlier.messageId = `${earlier.artifactId}-${this.seq}`;
    return [status];
  }

  #say(open: Open, part: A2aPart): TaskUpdate[] {
    const updates = this.#release(open, false);
    open.held = part;
    return updates;
  }

  /** Emits the part that is held back, and marks it as the last chunk at the end of the artifact. */
  #release(open: Open, lastChunk: boolean): TaskUpdate[] {
    const { artifactId, begun } = open;
    const parts = open.held ? [open.held] : lastChunk && begun ? [{ text: "" }] : [];
    if (parts.length === 0) return [];
    open.held = undefined;
    open.begun = true;
    return [
      { kind: "artifact", artifact: { artifactId, name: "Assistant Response", parts }, append: begun, lastChunk },
    ];
  }

  /** The run was taken up after a crash: the node in flight says everything again. */
  #again(): TaskUpdate[] {
    // Also of those without text: a reader of the stream may have had tokens that were lost.
    const cutOff = [...this.#open.values()].map(({ artifactId }) => artifactId);
    // An attempt may end before it repeats what an earlier attempt started.
    this.#cutOff = [...new Set([...cutOff, ...this.#cutOff])];
    this.#open.clear();
    return [];
  }

  #told(given: TaskEvent | undefined, ts: number): TaskUpdate[] {
    if (!given) return [];
    if ("artifact" in given) {
      const {
        append,
        lastChunk = !append,
        artifactId = `${this.#run}-${(this.#count += 1)}`,
        ...rest
      } = given.artifact;
      const again = append && this.#artifacts.has(artifactId);
      return [{ kind: "artifact", artifact: { artifactId, ...rest }, append: again, lastChunk }];
    }
    if ("message" in given) {
      const message: TaskMessage = {
        messageId: `${this.#run}-message`,
        role: "agent",
        contextId: this.ids.contextId,
        ...given.message,
      };
      this.direct = message;
      return [{ kind: "message", message }];
    }
    const { state, message: parts, metadata } = given.status;
    if (state === "working") return [this.#become("working", ts, parts, metadata)];
    this.#own = { state, parts, metadata };
    return [];
  }

  #become(state: TaskState, ts: number, parts?: A2aPart[], metadata?: Json): TaskUpdate {
    const message: TaskMessage | undefined = parts?.length
      ? {
          messageId: `${this.#run}-${state}-${ts}`,
          role: "agent",
          parts,
          ...this.ids,
          ...(metadata && { metadata }),
        }
      : undefined;
    if (this.#earlier) this.#history.push(this.#earlier);
    this.#earlier = undefined;
    this.#status = { state, timestamp: new Date(ts).toISOString(), ...(message && { message }) };
    return { kind: "status", status: this.#status, ...(metadata && { metadata }) };
  }

  /** Keeps the updates, and those that they bring about. */
  #kept(given: TaskUpdate[], ts: number): TaskUpdate[] {
    const updates = given.flatMap((update) => [...this.#before(update, ts), update]);
    for (const update of updates) this.#keep(update);
    return updates;
  }

  #keep(update: TaskUpdate): void {
    if (update.kind !== "artifact") return;
    const { artifact, append } = update;
    const before = this.#artifacts.get(artifact.artifactId);
    const parts = append && before ? joinParts(before.parts, artifact.parts) : artifact.parts;
    this.#artifacts.set(artifact.artifactId, { ...before, ...artifact, parts });
  }
}

/**
 * The error of a run as a caller can read it. A validator's error is a list of issues as JSON; the text names the place and
 * the rule of each.
 */
function failure(error: unknown): string {
  if (typeof error !== "string") return "The run failed.";
  const [, json = ""] = /^\w*Error: (\[\s*\{.*\}\s*\])\s*$/s.exec(error) ?? [];
  const issues = parseJson(json);
  if (!Array.isArray(issues)) return error;
  const rules = issues.filter(isObject).map(({ path, message }) => {
    const place = Array.isArray(path) && path.length > 0 ? `${path.join(".")}: ` : "";
    return `${place}${typeof message === "string" ? message : "is not valid"}`;
  });
  return `The input does not fit this agent: ${rules.join("; ")}`;
}

/** Joins consecutive text parts into one. */
function joinParts(parts: A2aPart[], more: A2aPart[]): A2aPart[] {
  const all = [...parts];
  for (const part of more) {
    const last = all.at(-1);
    const plain = (one?: A2aPart) =>
      one?.text !== undefined && !isObject(one.metadata) && !one.mediaType && !one.filename;
    if (plain(last) && plain(part)) all[all.length - 1] = { text: `${last?.text}${part.text}` };
    else all.push(part);
  }
  return all;
}
