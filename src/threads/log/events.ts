/** What the thread's log holds, as its readers get it. Classic SSE, the streaming protocol and A2A frame these. */

export interface LogEvent {
  /** Thread-wide, from 1, without gaps. */
  seq: number;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The run it belongs to. */
  run: string;
  method: EventMethod;
  /** Where in the graph: `[]` is the root, a segment is `<node>:<task id>`. */
  ns: string[];
  node?: string;
  /** With `tuple`: the metadata of the message. */
  meta?: Record<string, unknown>;
  data: unknown;
}

/** An event as the texts that the log keeps: framings are made from these, so that a state of megabytes is not parsed. */
export interface EventText extends Omit<LogEvent, "meta" | "data"> {
  /** Of an event that is not in the log: its id. Its number is between those of two events. */
  id?: string;
  /** JSON. */
  meta?: string;
  /** JSON, serialized on the first read. */
  text(): string;
}

/** Makes what a reader gets of an event; "" when it shows nothing. */
export type Framing = (event: EventText) => string;

/** The framing of `readEvents`: a `LogEvent` a line. */
export const asLine: Framing = (event) => {
  const { seq, ts, run, method, ns, node, meta } = event;
  const head = `{"seq":${seq},"ts":${ts},"run":"${run}","method":"${method}","ns":${JSON.stringify(ns)}`;
  const named = node === undefined ? head : `${head},"node":${JSON.stringify(node)}`;
  return `${named}${meta === undefined ? "" : `,"meta":${meta}`},"data":${event.text()}}\n`;
};

/**
 * - `metadata`: a run began, or began again after a crash: `{run_id, attempt}`.
 * - `lifecycle`: `{event: started|running|completed|failed|interrupted, graph_name, error?, reason?}`. At the root each run has
 *   exactly one `running` per attempt (with `attempt` from the second on) and one end. `interrupted` has a `reason` there.
 * - `values`: the state, at a pause with `__interrupt__` beside it. `updates`: `{<node>: update}`, or `{__interrupt__: […]}`.
 * - `tuple`: a message or a chunk of one, for the classic `messages` modes. `messages`: the same as the streaming
 *   protocol's sub-events.
 * - `tasks`, `checkpoints` (light: id, parent_id, step, source), `custom`, `tools`, `debug`, `events`: as LangGraph gives them.
 *   Of `events`, runs that do not request the mode have `on_custom_event` only.
 * - `extension`: what a stream transformer of the graph added: `{name, payload}`. Only the streaming protocol shows it.
 * - `input.requested`: `{interrupt_id, payload}`. `input.answered`: `{interrupt_ids}`.
 * - `error`: `{error, message}`. `feedback`: `{<key>: url}`.
 */
export type EventMethod =
  | "metadata"
  | "lifecycle"
  | "values"
  | "updates"
  | "tuple"
  | "messages"
  | "tasks"
  | "checkpoints"
  | "custom"
  | "extension"
  | "tools"
  | "debug"
  | "events"
  | "input.requested"
  | "input.answered"
  | "error"
  | "feedback";

/** The events that a reader requests, and the start position. */
export interface TailQuery {
  /** Only events after this sequence number. */
  after: number;
  /** No event contains parts of a text from both sides of this sequence number. `after` is such a number, too. */
  seen?: number;
  /** Only this run's, and the stream ends when the run has ended. Without it the stream never ends. */
  runId?: string;
  /** Only these methods; all when absent. Leaving out events that are not framed avoids rebuilding whole states. */
  methods?: EventMethod[];
  /** End when everything visible now has been read, instead of following. */
  replayOnly?: boolean;
}

/**
 * What a tail sends while a run makes no events: a byte that no framing contains. The platform reports to an object that its
 * reader has disconnected only when a write fails. Without writes the object would stay active, and be billed, until the next
 * event.
 */
export const PING = 0;

/** The bytes without pings. */
export function withoutPings(bytes: Uint8Array): Uint8Array {
  return bytes.includes(PING) ? bytes.filter((byte) => byte !== PING) : bytes;
}

/**
 * A tail ends with this byte and the log's last sequence number when no run is in progress: an open stream would keep the object
 * in memory. No framing contains the byte.
 */
export const REST = 1;

/** The end of a tail at rest. */
export const restMark = (seq: number): Uint8Array => new TextEncoder().encode(`\u{1}${seq}`);

/** Takes a tail's bytes as they come and gives the events they complete: one JSON object a line. */
export function readLines<T = LogEvent>(): (bytes: Uint8Array) => T[] {
  const lines = textLines();
  return (bytes) => lines(bytes).map((line) => JSON.parse(line) as T);
}

/** Takes bytes as they come and gives the lines they complete. */
export function textLines(): (bytes: Uint8Array) => string[] {
  const decoder = new TextDecoder();
  // The line that has begun, in the pieces it came in: a state of megabytes must not be searched again with each.
  let rest: string[] = [];
  return (bytes) => {
    const text = decoder.decode(bytes, { stream: true });
    if (!text.includes("\n")) {
      rest.push(text);
      return [];
    }
    const lines = `${rest.join("")}${text}`.split("\n");
    rest = [lines.pop() ?? ""];
    return lines;
  };
}

/** Reads the events out of a tail. */
export async function* readEvents(stream: ReadableStream<Uint8Array>): AsyncGenerator<LogEvent, void, void> {
  const read = readLines();
  for await (const bytes of stream) yield* read(bytes);
}

/** Checks of the custom events that graphs write. */
type Check = (payload: unknown) => void;

const checks: Check[] = [];

/** Adds a check. It throws for an event that its readers cannot use; the node that wrote the event gets the error. */
export function checkCustom(check: Check): void {
  checks.push(check);
}

/** Throws when a check refuses the event. */
export function checkedCustom(payload: unknown): void {
  for (const check of checks) check(payload);
}
