/** From what a graph emits to events of the thread's log. */
import { isObject } from "../../lib/json.ts";
import type { StoredEvent } from "./segments.ts";
import type { Tables } from "../store/tables.ts";
import type { ValueRefs, ValueStore } from "./values.ts";
import type { BaseMessage } from "@langchain/core/messages";
import type { MessageEvent } from "../../runtime/blocks.ts";
import { wireDebug, toWireJson, wireChunk } from "../../runtime/wire.ts";
import type { DriveSink } from "../../runtime/drive.ts";
import { checkedCustom, type EventMethod } from "./events.ts";
import type { EventLog, NewEvent, TokenWrite } from "./event-log.ts";
import { withinState } from "../limits.ts";
import type { Interrupt, Interrupts } from "../types.ts";

/** JSON with its members in order of name and without empty ones: equal for a value and its stored and revived self. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => {
    if (!isObject(part)) return part;
    const members = Object.entries(part).filter(([, member]) => member !== null && member !== undefined);
    return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

// What the log of a run says already: for a run that starts again after a crash, and for readers that name a checkpoint.

/** What a run's log contains from before a crash. */
export interface PriorAttempt {
  /** Updates since each graph's last state: namespace, a blank, and the data (`canonical`). */
  updates: Set<string>;
  /** The tasks whose result it has. */
  finished: Set<string>;
  /** The names of the tasks that began and have no result: where the process stopped. */
  inFlight: string[];
  /** The root state after its last step. */
  values?: ValueRefs;
  /** The interrupts of tasks of the root graph, by task. */
  interrupts: Interrupts;
}

/** What the log has of a run that starts again. `from` is the run's first sequence number. */
export function readPriorAttempt(tables: Tables, from: number, runId: string): PriorAttempt {
  const updates = new Map<string, Set<string>>();
  const finished = new Set<string>();
  const began = new Map<string, string>();
  const interrupts: Interrupts = {};
  let values: ValueRefs | undefined;
  for (const { run, method, ns, data } of eventsFrom(tables, from)) {
    if (run !== runId) continue;
    const graph = ns.join("|");
    if (method === "values") updates.delete(graph);
    if (method === "values" && ns.length === 0) values = (data?.$v as ValueRefs | undefined) ?? values;
    if (method === "updates") updates.set(graph, (updates.get(graph) ?? new Set()).add(`${graph} ${canonical(data)}`));
    if (method !== "tasks" || !data) continue;
    const {
      id,
      name,
      interrupts: asked = [],
    } = (data.$t ?? data) as { id: string; name: string; interrupts?: Interrupt[] };
    if (ns.length === 0 && asked.length > 0) interrupts[id] = asked;
    if ("result" in data) finished.add(id);
    if ("result" in data || "error" in data) began.delete(id);
    else began.set(id, name);
  }
  const inFlight = [...began.values()];
  const all = new Set([...updates.values()].flatMap((prior) => [...prior]));
  return { updates: all, finished, inFlight, values, interrupts };
}

/** The sequence number of the root `values` event that follows this checkpoint's envelope. */
export function seqOfCheckpoint(tables: Tables, from: number, checkpointId: string): number | undefined {
  let found = false;
  for (const { seq, ns, method, data } of eventsFrom(tables, from)) {
    if (ns.length > 0) continue;
    if (found && method === "values") return seq;
    if (method === "checkpoints") found = data?.id === checkpointId;
  }
  return undefined;
}

export function* eventsFrom(tables: Tables, from: number): Generator<StoredEvent, void, void> {
  for (const row of tables.eventsAfter(from - 1)) {
    for (const event of JSON.parse(row.events) as StoredEvent[]) if (event.seq >= from) yield event;
  }
}

/** An event longer than this is stored separately, by content. */
const INLINE_EVENT = 250_000;

export class Emitter implements DriveSink {
  /** The root state after the last step. */
  values: ValueRefs | undefined;
  /** Set once the root graph paused: at `interrupt()` with its interrupts by task, at a breakpoint with none. */
  interrupted = false;
  interrupts: Interrupts = {};
  /** When the graph gave its first event, milliseconds. */
  firstAt: number | undefined;
  /** How many token deltas the graph gave. */
  deltas = 0;
  /** The ids of the questions that the graph has asked in this run. */
  readonly requested = new Set<string>();
  /** The state of each graph in progress after its last step, by namespace. */
  #states = new Map<string, ValueRefs>();
  #opened = new Set<string>();
  #closed = false;
  /** A message's metadata as JSON, made once and not for each of its chunks. */
  #metas = new WeakMap<object, string>();

  constructor(
    private readonly eventLog: EventLog,
    private readonly store: ValueStore,
    private readonly runId: string,
    /** After a crash: what the log has already. */
    private readonly prior?: PriorAttempt,
    private readonly token: TokenWrite = "soon",
  ) {}

  /** Later events of an abandoned node are dropped. */
  close(): void {
    this.#closed = true;
  }

  chunk(ns: string[], mode: string, payload: unknown): void {
    if (mode === "values") this.#values(ns, payload);
    else if (mode === "updates") this.#updates(ns, payload as Record<string, unknown>);
    else if (mode === "tasks") this.#task(ns, payload as Record<string, unknown>);
    else if (mode === "debug") this.emit("debug", ns, wireDebug(payload));
    else {
      if (mode === "custom") checkedCustom(payload);
      this.emit(mode as EventMethod, ns, toWireJson(payload));
    }
  }

  tuple(ns: string[], message: BaseMessage, metadata: Record<string, unknown>): void {
    this.#open(ns);
    let meta = this.#metas.get(metadata);
    if (meta === undefined) this.#metas.set(metadata, (meta = toWireJson(metadata)));
    this.emit("tuple", ns, wireChunk(message), { meta, token: this.token });
  }

  message(ns: string[], node: string, event: MessageEvent): void {
    const isDelta = event.event === "content-block-delta";
    if (isDelta) this.deltas += 1;
    // A message that began and one that ended are facts: an attempt that begins again takes the place of what is open.
    this.emit("messages", ns, toWireJson(event), { node, ...(isDelta && { token: this.token }) });
  }

  tool(ns: string[], event: Record<string, unknown>): void {
    this.#open(ns);
    this.emit("tools", ns, toWireJson(event));
  }

  extension(ns: string[], name: string, payload: unknown): void {
    this.emit("extension", ns, toWireJson({ name, payload }));
  }

  event(event: unknown): void {
    this.emit("events", [], toWireJson(event));
  }

  /** Appends one event of this run. `data` is JSON. */
  emit(
    method: EventMethod,
    namespace: string[],
    data: string,
    more: Pick<NewEvent, "node" | "meta" | "refs" | "token"> = {},
  ): number {
    if (this.#closed) return 0;
    if (method !== "lifecycle") this.firstAt ??= Date.now();
    withinState(data.length);
    const apart = data.length > INLINE_EVENT;
    const kept = apart ? { data: this.#apart(data), refs: true } : { data };
    return this.eventLog.append({ runId: this.runId, method, namespace, ...more, ...kept });
  }

  #apart(data: string): string {
    return `{"$b":"${this.store.blob(data)}"}`;
  }

  lifecycle(namespace: string[], body: Record<string, unknown>): number {
    return this.emit("lifecycle", namespace, JSON.stringify(body));
  }

  #values(ns: string[], payload: unknown): void {
    if (this.#closed) return;
    if (isObject(payload) && "__interrupt__" in payload) {
      if (ns.length === 0) this.interrupted = true;
      // LangGraph in JavaScript gives the interrupts alone, in Python the state with them.
      const state = this.#states.get(ns.join("|")) ?? (ns.length === 0 ? this.values : undefined);
      this.emit("values", ns, toWireJson(state ? { $i: payload, $v: state } : payload), { refs: state !== undefined });
      return;
    }
    if (!isObject(payload)) {
      this.emit("values", ns, JSON.stringify({ $x: this.store.encode(`${ns.join("|")}|`, payload) }), { refs: true });
      return;
    }
    const refs = this.#refs(ns, payload);
    withinState(this.store.size(refs));
    if (ns.length === 0) this.values = refs;
    this.#states.set(ns.join("|"), refs);
    this.#open(ns);
    this.emit("values", ns, JSON.stringify({ $v: refs }), { refs: true });
  }

  #refs(ns: string[], values: Record<string, unknown>): ValueRefs {
    const refs: ValueRefs = {};
    const scope = ns.join("|");
    for (const [channel, value] of Object.entries(values)) {
      if (value !== undefined) refs[channel] = this.store.encode(`${scope}|${channel}`, value);
    }
    return refs;
  }

  #updates(ns: string[], payload: Record<string, unknown>): void {
    const raised = payload["__interrupt__"] as Interrupt[] | undefined;
    const { __metadata__: mark, ...plain } = payload as { __metadata__?: { cached?: boolean } };
    if (this.prior && mark?.cached) {
      // LangGraph repeats the writes of nodes that finished before a crash.
      const data = toWireJson(plain);
      const kept = data.length > INLINE_EVENT ? this.#apart(data) : data;
      if (!this.prior.updates.has(`${ns.join("|")} ${canonical(JSON.parse(kept))}`)) this.emit("updates", ns, data);
      return;
    }
    this.emit("updates", ns, toWireJson(payload));
    for (const { id, value } of raised ?? []) {
      // A nested graph's interrupt is reported again by each graph around it.
      if (id === undefined || this.requested.has(id)) continue;
      this.requested.add(id);
      this.emit("input.requested", ns, toWireJson({ interrupt_id: id, payload: value }));
    }
  }

  #task(ns: string[], task: Record<string, unknown>): void {
    if (this.#closed) return;
    if (!("result" in task) && !("error" in task)) {
      // LangGraph repeats the finished tasks of a step when it continues with the others.
      if (this.prior?.finished.has(String(task.id))) return;
      const { input, ...rest } = task;
      const whole = isObject(input);
      const data = whole ? { $t: rest, $v: this.#refs(ns, input) } : task;
      this.emit("tasks", ns, toWireJson(data), { refs: whole });
      // The process has already stopped once in this run. After another stop, the log shows at which node.
      if (this.prior) this.eventLog.flush();
      else this.eventLog.taskBegins();
      return;
    }
    this.emit("tasks", ns, toWireJson(task));
    this.eventLog.taskFinished();
    const interrupts = task.interrupts as Interrupt[];
    if (ns.length === 0 && interrupts.length > 0) this.interrupts[String(task.id)] = interrupts;
    const child = [...ns, `${String(task.name)}:${String(task.id)}`];
    this.#states.delete(child.join("|"));
    if (!this.#opened.has(child.join("|"))) return;
    const event = task.error ? "failed" : interrupts.length > 0 ? "interrupted" : "completed";
    this.lifecycle(child, { event, graph_name: String(task.name) });
  }

  /** Says that a namespace has begun, the first time something happens in it. */
  #open(ns: string[]): void {
    for (let depth = 1; depth <= ns.length; depth++) {
      const prefix = ns.slice(0, depth);
      const key = prefix.join("|");
      if (this.#opened.has(key)) continue;
      this.#opened.add(key);
      this.lifecycle(prefix, { event: "started", graph_name: prefix.at(-1)?.split(":")[0] ?? "" });
    }
  }
}
