/** The log's events as the streaming protocol has them. Ids and sequence numbers are the log's: stable across replays. */
import { isObject, type Json } from "../../lib/json.ts";
import type { EventMethod, EventText } from "../../threads/log/events.ts";
import type { StreamFilter } from "./schema.ts";

/** An event of the protocol: `{type, event_id, seq, method, params: {namespace, timestamp, node?, data}}`. */
export interface ProtocolEvent {
  /** Unique in the thread. Ends in the sequence number, so that a client can resume after any id. */
  id: string;
  method: string;
  namespace: string[];
  /** Of a custom event that has one. */
  name?: string;
  /** The whole event as JSON. */
  json: string;
}

/** Which of the log's methods each channel is made from. `custom:<name>` is a part of `custom`. */
const CHANNELS: Record<string, EventMethod[]> = {
  values: ["values"],
  checkpoints: ["checkpoints"],
  updates: ["updates"],
  messages: ["messages"],
  tools: ["tools"],
  lifecycle: ["lifecycle"],
  input: ["input.requested", "input.answered"],
  "input.requested": ["input.requested"],
  "input.answered": ["input.answered"],
  tasks: ["tasks"],
  custom: ["custom", "extension"],
};

export const knownChannel = (channel: string): boolean =>
  Object.hasOwn(CHANNELS, channel) || channel.startsWith("custom:");

/** The log's methods that these channels need. */
export function selectMethods(channels: string[]): EventMethod[] {
  return [
    ...new Set(
      channels.flatMap((name) => {
        const channel = name.startsWith("custom:") ? "custom" : name;
        return Object.hasOwn(CHANNELS, channel) ? (CHANNELS[channel] ?? []) : [];
      }),
    ),
  ];
}

/** The log's event in the protocol, as JSON; undefined when the protocol does not show it. */
export function protocolEvent(event: EventText): ProtocolEvent | undefined {
  const { seq, ts, ns } = event;
  const method = event.method === "extension" ? "custom" : event.method;
  const shown = FRAMES[method]?.(event);
  if (!shown) return undefined;
  const id = event.id ?? (shown.event === undefined ? String(seq) : eventId(event, shown.event));
  const node = shown.node === undefined ? "" : `,"node":${JSON.stringify(shown.node)}`;
  const params = `{"namespace":${JSON.stringify(ns)},"timestamp":${ts}${node},"data":${shown.data}}`;
  const json = `{"type":"event","event_id":"${id}","seq":${Math.floor(seq)},"method":"${method}","params":${params}}`;
  return { id, method, namespace: ns, name: shown.name, json };
}

/**
 * The log position of an event id; undefined when the id has another format.
 * Root lifecycle: `synth:<run id>:lc||<event>|<seq>`. The state that an opening begins with: `state|<seq>`. Any other: the sequence
 * number.
 */
export function seqOfEventId(id: string): number | undefined {
  const digits = /^(?:(?:synth:[^|]*\|\|\w+|state)\|)?(\d{1,15})$/.exec(id)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** By `synth:<run id>:` the clients distinguish the ends of runs in a replay. */
function eventId({ ns, run, seq }: EventText, event: string): string {
  return ns.length > 0 ? String(seq) : `synth:${run}:lc||${event}|${seq}`;
}

interface Shown {
  /** JSON. */
  data: string;
  node?: string;
  /** Of a lifecycle event: what happened. */
  event?: string;
  /** Of a custom event. */
  name?: string;
}

const showEvent = (event: EventText): Shown => ({ data: event.text(), node: event.node });
const json = (event: EventText): unknown => JSON.parse(event.text());

const FRAMES: Partial<Record<EventMethod, (event: EventText) => Shown | undefined>> = {
  messages: showEvent,
  checkpoints: showEvent,
  tasks: showEvent,
  "input.requested": showRequest,
  "input.answered": showEvent,
  lifecycle: (event) => lifecycle(json(event) as Json),
  values,
  updates: (event) => updates(json(event)),
  custom: (event) => custom(json(event)),
  tools: (event) => tool(json(event) as Json),
};

/** The JavaScript clients read the interrupt's value as `payload`, the Python clients as `value`. */
function showRequest(event: EventText): Shown {
  const data = json(event) as Json;
  return { data: JSON.stringify({ ...data, value: data.payload }) };
}

/**
 * A run that a crash made start again has begun only once, for those who watch it. The protocol has no `reason`. The
 * JavaScript clients read that of a refused answer, which names what was answered.
 */
function lifecycle({ attempt = 1, reason, ...shown }: Json & { attempt?: number }): Shown | undefined {
  if (attempt > 1) return undefined;
  const data = "interrupt_ids" in shown ? { ...shown, reason } : shown;
  return { data: JSON.stringify(data), event: String(shown.event) };
}

/** A state of megabytes is parsed only when it may be an interrupt, which `input.requested` shows. */
function values(event: EventText): Shown | undefined {
  const data = event.text();
  return data.includes('"__interrupt__"') && raisesInterrupt(JSON.parse(data)) ? undefined : { data };
}

function raisesInterrupt(data: unknown): boolean {
  return typeof data === "object" && data !== null && "__interrupt__" in data;
}

function updates(data: unknown): Shown | undefined {
  if (raisesInterrupt(data)) return undefined;
  const [node, values] = Object.entries((data ?? {}) as Json)[0] ?? [];
  if (node === undefined) return { data: JSON.stringify({ values: {} }) };
  const shown = isObject(values) ? values : values === null ? {} : { value: values };
  return { data: JSON.stringify({ node, values: shown }) };
}

function custom(data: unknown): Shown {
  if (!isObject(data) || typeof data.name !== "string") return { data: JSON.stringify({ payload: data }) };
  // The Python clients read a named event's members beside its name, the JavaScript ones its payload.
  return { data: JSON.stringify("payload" in data ? data : { ...data, payload: data }), name: data.name };
}

function tool(given: Json): Shown | undefined {
  const shown = toolEvent(given);
  return shown && { data: JSON.stringify(shown) };
}

function toolEvent({ event, toolCallId, name, input, data, output, error }: Json): Json | undefined {
  const call = { tool_call_id: typeof toolCallId === "string" ? toolCallId : "" };
  switch (event) {
    case "on_tool_start":
      return { event: "tool-started", ...call, tool_name: typeof name === "string" ? name : "unknown", input };
    case "on_tool_event":
      return { event: "tool-output-delta", ...call, delta: asText(data) };
    case "on_tool_end":
      return { event: "tool-finished", ...call, output };
    case "on_tool_error":
      return { event: "tool-error", ...call, message: asText((error as Json | undefined)?.message) };
    default:
      return undefined;
  }
}

const asText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value ?? ""));

// Which events a subscription gets.

/** Whether an event belongs to a subscription by channel, namespace and depth; `since` is the reader's cursor. */
export function matcher({ channels, namespaces, depth }: StreamFilter): (event: ProtocolEvent) => boolean {
  const wanted = new Set(channels);
  const prefixes = namespaces ?? [];
  return (event) => {
    if (!wantsChannel(wanted, event)) return false;
    const { namespace } = event;
    // Without namespaces everything is wanted, however deep.
    return prefixes.length === 0 || isWithin(prefixes, depth, namespace);
  };
}

const isWithin = (prefixes: string[][], depth: number | null | undefined, namespace: string[]): boolean =>
  prefixes.some((prefix) => isUnder(prefix, namespace) && (depth == null || namespace.length - prefix.length <= depth));

/** The part of a filter that names graphs below the root: what a subagent has done is read from its beginning. */
export function namedGraphs({ namespaces, depth }: StreamFilter): ((namespace: string[]) => boolean) | undefined {
  const prefixes = (namespaces ?? []).filter((prefix) => prefix.length > 0);
  return prefixes.length === 0 ? undefined : (namespace) => isWithin(prefixes, depth, namespace);
}

function wantsChannel(wanted: Set<string>, { method, name }: ProtocolEvent): boolean {
  if (wanted.has(method)) return true;
  if (method.startsWith("input.")) return wanted.has("input");
  return name !== undefined && wanted.has(`custom:${name}`);
}

/** A segment without a task id (`research`) matches every task of that node (`research:<id>`). */
function isUnder(prefix: string[], namespace: string[]): boolean {
  if (prefix.length > namespace.length) return false;
  return prefix.every((segment, i) => {
    const actual = namespace[i] ?? "";
    return segment === actual || (!segment.includes(":") && segment === actual.split(":")[0]);
  });
}
