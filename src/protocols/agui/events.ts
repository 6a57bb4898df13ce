/** The events of one run's log as AG-UI events: a pure reducer. */
import { type Json, isObject } from "../../lib/json.ts";
import type { EventMethod, LogEvent } from "../../threads/log/events.ts";
import { type LoggedInterrupt, BREAKPOINT, toWireInterrupt } from "./interrupts.ts";
import { toWireMessages } from "./messages.ts";
import { type AguiEvent, Speech } from "./speech.ts";

// Events that a graph dispatches under the names which `@ag-ui/langgraph` and CopilotKit give a meaning of their own.

/** What an event amounts to: a message, a tool call or a state that the graph emits whole, or something of its own. */
export type DispatchedEvent =
  | { kind: "message"; id: string; text: string }
  | { kind: "call"; id: string; name: string; args: string }
  | { kind: "state"; state: Json; name: string; value: unknown }
  | { kind: "custom"; name: string; value: unknown };

const asText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value ?? {}));

/** Reads LangChain's `on_custom_event`; undefined for its other events. */
export function readDispatched({ event, name, data }: Json): DispatchedEvent | undefined {
  if (event !== "on_custom_event") return undefined;
  const custom = { name: String(name), value: data ?? null };
  const given = isObject(data) ? data : {};
  switch (custom.name.replace(/^copilotkit_/, "")) {
    case "manually_emit_message":
      if (typeof given.message_id !== "string" || typeof given.message !== "string") break;
      return { kind: "message", id: given.message_id, text: given.message };
    case "manually_emit_tool_call":
      if (typeof given.id !== "string" || typeof given.name !== "string") break;
      return { kind: "call", id: given.id, name: given.name, args: asText(given.args) };
    case "manually_emit_state":
    case "manually_emit_intermediate_state":
      if (isObject(data)) return { kind: "state", state: data, ...custom };
  }
  return { kind: "custom", ...custom };
}

// The difference of two JSON values as a JSON Patch (RFC 6902).

export type PatchOperation = { op: "add" | "replace"; path: string; value: unknown } | { op: "remove"; path: string };

/** What turns `before` into `after`: nothing when they are equal. A list that has grown is added to; any other is replaced. */
export function diff(before: unknown, after: unknown, path = ""): PatchOperation[] {
  if (before === after) return [];
  if (isObject(before) && isObject(after)) return members(before, after, path);
  if (Array.isArray(before) && Array.isArray(after) && isBeginning(before, after)) {
    return after.slice(before.length).map((value): PatchOperation => ({ op: "add", path: `${path}/-`, value }));
  }
  return isEqual(before, after) ? [] : [{ op: "replace", path, value: after }];
}

function members(before: Record<string, unknown>, after: Record<string, unknown>, path: string): PatchOperation[] {
  const at = (name: string) => `${path}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
  const removed = Object.keys(before).filter((name) => !Object.hasOwn(after, name));
  return [
    ...removed.map((name): PatchOperation => ({ op: "remove", path: at(name) })),
    ...Object.entries(after).flatMap(([name, value]): PatchOperation[] =>
      Object.hasOwn(before, name) ? diff(before[name], value, at(name)) : [{ op: "add", path: at(name), value }],
    ),
  ];
}

const isBeginning = (before: unknown[], after: unknown[]) =>
  before.length <= after.length && before.every((value, place) => isEqual(value, after[place]));

/** Both come from JSON, and a state keeps the order of its members. */
export const isEqual = (one: unknown, other: unknown): boolean =>
  one === other || JSON.stringify(one) === JSON.stringify(other);

/** The channels of the log that a run is built from. */
export const METHODS: EventMethod[] = [
  "metadata",
  "lifecycle",
  "messages",
  "values",
  "custom",
  "events",
  "input.requested",
];

export const PROTOCOL_VERSION = "1.0";

export class EventReducer {
  #speech = new Speech();
  /** The number of running tasks per node: a step is open while there is one. */
  #steps = new Map<string, number>();
  #asked: LoggedInterrupt[] = [];
  #state: Json | undefined;
  #messages: unknown;
  /** The ids of the messages that the client has sent, until the run's first state. */
  #sent: ReadonlySet<string> | undefined;
  /** Ids of the tool messages that were in the state. */
  #results = new Set<string>();
  /** The run has ended: every event after that would break the protocol. */
  ended = false;

  /** The client's own ids, which every event about the run repeats. */
  constructor(private readonly ids: { threadId: string; runId: string }) {}

  /** The first event. `sent`: the ids of the messages that the client has; it gets what differs with the run's first state. */
  started(sent?: Iterable<string>): AguiEvent[] {
    this.#sent = sent && new Set(sent);
    return [{ type: "RUN_STARTED", ...this.ids, protocolVersion: PROTOCOL_VERSION }];
  }

  /** All events for a client that opens a thread at which no run is at work; undefined: there is no such thread. */
  resting(thread?: { values: Json; asked: LoggedInterrupt[]; stopped: boolean }): AguiEvent[] {
    const { messages, ...state } = thread?.values ?? {};
    this.#asked = thread?.asked ?? [];
    this.ended = true;
    const reason = this.#asked.length > 0 ? "input" : "breakpoint";
    const outcome = thread?.stopped ? this.#outcome("interrupted", reason) : this.#outcome("completed", undefined);
    const known = thread ? [snapshot(messages), { type: "STATE_SNAPSHOT", snapshot: state }] : [];
    return [...this.started(), ...known, { type: "RUN_FINISHED", ...this.ids, outcome }];
  }

  apply(event: LogEvent): AguiEvent[] {
    const timestamp = event.ts;
    return this.#events(event).map((one) => ({ ...one, timestamp }));
  }

  /** The last event of a run whose log ended without one, such as a run that was rolled back. */
  lost(message = "The run was removed before it ended."): AguiEvent[] {
    if (this.ended) return [];
    this.ended = true;
    return [...this.#close(), { type: "RUN_ERROR", message, code: "run_lost" }];
  }

  #events({ method, ns, node, data }: LogEvent): AguiEvent[] {
    const isRoot = ns.length === 0;
    if (method === "lifecycle" && ns.length <= 1)
      return isRoot ? this.#run(data as Json) : this.#step(ns[0] ?? "", data as Json);
    if (method === "messages") return ns.length === 1 && node !== undefined ? this.#speech.apply(data as Json) : [];
    if (method === "values") return isRoot && isObject(data) ? this.#values(data) : [];
    if (method === "custom") return [custom(data)];
    if (method === "events") return this.#dispatched(readDispatched(data as Json));
    // After a crash the node in flight emits all its output again.
    if (method === "metadata") return Number((data as Json).attempt) > 1 ? this.#close() : [];
    if (method === "input.requested") this.#asked.push(data as LoggedInterrupt);
    return [];
  }

  /** A snapshot first, then what changes. The messages are apart from the state. */
  #values(data: Json): AguiEvent[] {
    if ("__interrupt__" in data) return [];
    const { messages, ...state } = data;
    this.#messages = messages;
    const before = this.#state;
    this.#state = state;
    const results = this.#newResults(messages, before === undefined);
    if (!before) {
      return [...this.#past(messages), ...results, { type: "STATE_SNAPSHOT", snapshot: state }];
    }
    const delta = diff(before, state);
    return delta.length > 0 ? [...results, { type: "STATE_DELTA", delta }] : results;
  }

  /**
   * The conversation with which the run begins, when the client lacks some of it or has more: half of an answer. Clients keep the order of what they have and put the
   * rest after it, so they get what is before their own last messages alone first.
   */
  #past(messages: unknown): AguiEvent[] {
    const sent = this.#sent;
    const all = toWireMessages(messages);
    const isSent = ({ id }: Json) => sent?.has(String(id)) === true;
    const isWhole = all.length === 0 ? sent?.size !== 0 : all.length === sent?.size && all.every(isSent);
    if (!sent || isWhole) return [];
    const before = all.slice(0, all.findLastIndex((one) => !isSent(one)) + 1);
    const shown = before.length > 0 && before.length < all.length ? [before, all] : [all];
    return shown.map((part): AguiEvent => ({ type: "MESSAGES_SNAPSHOT", messages: part }));
  }

  #dispatched(given: DispatchedEvent | undefined): AguiEvent[] {
    if (!given) return [];
    switch (given.kind) {
      case "message":
        return this.#speech.whole(given.id, given.text);
      case "call":
        return this.#speech.wholeCall(given);
      case "state": {
        const { messages: _, ...snapshot } = given.state;
        // The client has this state now: the next step's change is relative to it.
        if (this.#state) this.#state = snapshot;
        return [
          { type: "STATE_SNAPSHOT", snapshot },
          { type: "CUSTOM", name: given.name, value: given.value },
        ];
      }
      case "custom":
        return [{ type: "CUSTOM", name: given.name, value: given.value }];
    }
  }

  /** What tools have returned: their messages are not streamed. Those that a run begins with belong to its past. */
  #newResults(messages: unknown, first: boolean): AguiEvent[] {
    const all = Array.isArray(messages) ? messages.filter((one) => isObject(one) && one.type === "tool") : [];
    const fresh = toWireMessages(all).filter(({ id }) => !this.#results.has(String(id)));
    for (const { id } of fresh) this.#results.add(String(id));
    const told = fresh.filter(({ toolCallId }) => !first || this.#speech.called(String(toolCallId)));
    return told.map(({ id, toolCallId, content }) => ({
      type: "TOOL_CALL_RESULT",
      messageId: id,
      toolCallId,
      content,
      role: "tool",
    }));
  }

  #step(task: string, { event }: Json): AguiEvent[] {
    const stepName = task.slice(0, task.lastIndexOf(":"));
    const open = this.#steps.get(stepName) ?? 0;
    if (event === "started") {
      this.#steps.set(stepName, open + 1);
      return open === 0 ? [{ type: "STEP_STARTED", stepName }] : [];
    }
    if (open === 0 || event === "running") return [];
    this.#steps.set(stepName, open - 1);
    return open === 1 ? [{ type: "STEP_FINISHED", stepName }] : [];
  }

  #run({ event, error, reason }: Json): AguiEvent[] {
    if (event !== "completed" && event !== "failed" && event !== "interrupted") return [];
    this.ended = true;
    const before = this.#close();
    if (event === "failed") {
      const message = typeof error === "string" ? error : "The run failed.";
      return [...before, { type: "RUN_ERROR", message, code: "run_failed" }];
    }
    if (this.#messages !== undefined) {
      before.push(snapshot(this.#messages));
    }
    return [...before, { type: "RUN_FINISHED", ...this.ids, outcome: this.#outcome(event, reason) }];
  }

  #outcome(event: string, reason: unknown): Json {
    if (event === "completed") return { type: "success" };
    if (reason === "breakpoint") return { type: "interrupt", interrupts: [BREAKPOINT] };
    if (reason !== "input") return { type: "cancelled" };
    return { type: "interrupt", interrupts: this.#asked.map(toWireInterrupt) };
  }

  #close(): AguiEvent[] {
    const steps = [...this.#steps].filter(([, open]) => open > 0);
    this.#steps.clear();
    return [...this.#speech.end(), ...steps.map(([stepName]) => ({ type: "STEP_FINISHED", stepName }))];
  }
}

const snapshot = (messages: unknown): AguiEvent => ({ type: "MESSAGES_SNAPSHOT", messages: toWireMessages(messages) });

/** A custom event with a `name` keeps it. */
function custom(data: unknown): AguiEvent {
  if (!isObject(data) || typeof data.name !== "string") return { type: "CUSTOM", name: "custom", value: data ?? null };
  const { name, ...rest } = data;
  return { type: "CUSTOM", name, value: "payload" in rest ? rest.payload : rest };
}
