/**
 * The order in which the connections of one thread show a pause to the Python SDK. Its lifecycle watcher is a connection of
 * its own, and a question there ends all iterators. So the watcher shows a question when the run has paused and the
 * iterators' connections have shown everything before that. Their own end follows: by then the caller finds the question
 * in `thread.interrupts`.
 */
import type { EventText, Framing } from "../../threads/log/events.ts";
import type { Json } from "../../lib/json.ts";
import { protocolEvent, type ProtocolEvent } from "./events.ts";
import { Problem } from "../../lib/problem.ts";

/** Encloses the number of the event at which a run pauses. Neither JSON nor what else a tail sends has the character. */
const MARK = "\u0002";
const CODE = MARK.charCodeAt(0);

/** Milliseconds in which a client opens the connections of its iterators after the answer to `run.start`. */
const OPENING = 150;
/** Milliseconds by which what was sent first on one connection may arrive later than what was sent on another. */
const SKEW = 40;
/** Milliseconds after which a connection that does not read is no longer waited for. */
const MAX_WAIT_MS = 2_000;
const STEP = 10;

interface Reader {
  watches: boolean;
  /** Everything before the pause of this number was handed out. */
  reached: number;
  /** The pause of this number, too. */
  shown: number;
}

/** Whether a connection is a lifecycle watcher: it subscribes to questions, and to nothing that a graph emits. */
export const watchesLifecycle = (channels: string[]): boolean =>
  channels.some((channel) => channel.startsWith("input")) &&
  channels.every((channel) => channel === "lifecycle" || channel.startsWith("input"));

/** The framing with a mark before each pause. A watcher's questions, and what follows them, come with the end of their run. */
export function markPauses(framing: Framing, channels: string[]): Framing {
  const isWatcher = watchesLifecycle(channels);
  let kept = "";
  return (event) => {
    const text = framing(event);
    const ending = rootEnd(event);
    if (isWatcher && !ending && (kept || event.method === "input.requested")) {
      kept += text;
      return "";
    }
    const shown = ending ? `${kept}${text}` : text;
    if (ending) kept = "";
    return shown && ending?.event === "interrupted" && ending.reason === "input"
      ? `${MARK}${event.seq}${MARK}${shown}`
      : shown;
  };
}

function rootEnd(event: EventText): { event: string; reason?: string } | undefined {
  if (event.method !== "lifecycle" || event.ns.length > 0) return undefined;
  const data = JSON.parse(event.text()) as { event: string; reason?: string };
  return data.event === "running" ? undefined : data;
}

/** The Python SDK's connections to one thread, in the thread's object. */
export class Pauses {
  #readers = new Set<Reader>();

  /** `last`: the number of the thread's last event. */
  constructor(private readonly last: () => Promise<number>) {}

  /** Frames of `markPauses` without the marks, each pause in its turn. `after`: events up to this number are not shown. */
  ordered(frames: ReadableStream<Uint8Array>, channels: string[], after: number): ReadableStream<Uint8Array> {
    const reader: Reader = { watches: watchesLifecycle(channels), reached: after, shown: after };
    this.#readers.add(reader);
    const leave = () => this.#readers.delete(reader);
    const source = frames.getReader();
    const encoder = new TextEncoder();
    const decoder = new TextDecoder();
    /** A mark whose end has not been read. */
    let begun = "";
    return new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        const { done, value } = await source.read();
        if (done) {
          leave();
          return controller.close();
        }
        if (begun === "" && !value.includes(CODE)) return controller.enqueue(value);
        // Frames, and between them the numbers of pauses.
        const [first = "", ...pieces] = `${begun}${decoder.decode(value)}`.split(MARK);
        begun = pieces.length % 2 === 0 ? "" : `${MARK}${pieces.pop()}`;
        if (first) controller.enqueue(encoder.encode(first));
        for (let i = 0; i < pieces.length; i += 2) {
          const seq = Number(pieces[i]);
          await this.#turn(reader, seq);
          controller.enqueue(encoder.encode(pieces[i + 1]));
          reader.shown = seq;
        }
      },
      cancel: async (reason) => {
        leave();
        await source.cancel(reason);
      },
    });
  }

  /** Resolves when the connection may show the pause. One that is over, because a run has followed, is shown at once. */
  async #turn(reader: Reader, seq: number): Promise<void> {
    reader.reached = seq;
    if (seq < (await this.last())) return;
    if (reader.watches) {
      await scheduler.wait(OPENING);
      await until(MAX_WAIT_MS, () => this.#all((one) => one.watches || one.reached >= seq));
    } else {
      // The watcher's connection may still be on its way.
      await until(OPENING, () => !this.#all((one) => !one.watches));
      await until(MAX_WAIT_MS, () => this.#all((one) => !one.watches || one.shown >= seq));
    }
    await scheduler.wait(SKEW);
  }

  #all(holds: (reader: Reader) => boolean): boolean {
    return [...this.#readers].every(holds);
  }
}

/** Waits until this holds, and no longer than `most` milliseconds. */
async function until(most: number, holds: () => boolean): Promise<void> {
  for (let waited = 0; waited < most && !holds(); waited += STEP) await scheduler.wait(STEP);
}

// Events as the Python SDK reads them. Its projections compare namespaces for equality, and LangGraph in Python names a
// message and a tool call by their graph, where LangGraph in JavaScript names them by their node. Its iterators end at a
// root `completed` or `failed` only. Its servers stream what models say. A node's own message comes with the state, so
// one without text is not shown as an empty message.

const CANCELLED = "The run was cancelled.";

/** How the JSON of such an event begins, and a member of it. */
const START = '{"event":"message-start"';
const TEXTLESS = '"textless":true';

/** The framing of one connection. It records which graphs have begun. */
export function pythonEvents(channels: string[]): (event: EventText) => ProtocolEvent | undefined {
  const graphs = new Set<string>();
  const hearsInput = channels.some((channel) => channel.startsWith("input"));
  const lifecycle = (event: EventText): EventText | undefined => {
    const data = JSON.parse(event.text()) as Json;
    if (event.ns.length === 0) return withData(event, rootEvent(data, hearsInput));
    if (data.event !== "started") return graphs.has(event.ns.join("|")) ? event : undefined;
    // A node that begins shows that the graph around it has begun. The root graph has events of its own.
    const graph = event.ns.slice(0, -1);
    if (graph.length === 0 || graphs.has(graph.join("|"))) return undefined;
    graphs.add(graph.join("|"));
    return withData({ ...event, ns: graph }, { ...data, graph_name: graph.at(-1)?.split(":")[0] });
  };
  /** The `run_id` of each whole message without text that has begun. */
  const textless = new Set<unknown>();
  const isTextless = (event: EventText): boolean => {
    const text = event.text();
    if (textless.size === 0 && !(text.startsWith(START) && text.includes(TEXTLESS))) return false;
    const data = JSON.parse(text) as Json;
    if (data.event === "message-start" && data.textless === true) textless.add(data.run_id);
    if (!textless.has(data.run_id)) return false;
    if (data.event === "message-finish") textless.delete(data.run_id);
    return true;
  };
  return (event) => {
    const { method, ns } = event;
    if (method === "messages" && isTextless(event)) return undefined;
    if (method === "messages" || method === "tools") return protocolEvent({ ...event, ns: ns.slice(0, -1) });
    const shown = method === "lifecycle" ? lifecycle(event) : event;
    return shown && protocolEvent(shown);
  };
}

/**
 * A root event. The SDK waits without end after an `interrupted` that no input follows. A stream that does not
 * subscribe to `input` cannot see the question, so a pause ends it too.
 */
function rootEvent(data: Json, hearsInput: boolean): Json {
  if (data.event !== "interrupted") return data;
  if (data.reason === "cancel") return { ...data, event: "failed", error: CANCELLED };
  return data.reason !== "breakpoint" && hearsInput ? data : { ...data, event: "completed" };
}

function withData(event: EventText, data: Json): EventText {
  return { ...event, text: () => JSON.stringify(data) };
}

// The client library of a connection: the official clients of the two languages read some events differently.

export type Dialect = "javascript" | "python";

/** Chooses the dialect of a connection, before its `User-Agent` does. */
const HEADER = "x-weir-dialect";

/** What the Python SDK and its two transports send as `User-Agent`. */
const PYTHON = /\b(langgraph-sdk-py|python-httpx|websockets)\//i;

/** The dialect of a request's connection. 422 when the header names one that does not exist. */
export function readDialect(headers: Headers): Dialect {
  const given = headers.get(HEADER);
  if (given === "python" || given === "javascript") return given;
  if (given !== null) throw new Problem(422, `${HEADER} must be python or javascript.`);
  return PYTHON.test(headers.get("user-agent") ?? "") ? "python" : "javascript";
}

/** The frames of an event for one connection. `channels`: all subscribed channels. */
export function eventsIn(dialect: Dialect, channels: string[]): (event: EventText) => ProtocolEvent | undefined {
  return dialect === "python" ? pythonEvents(channels) : protocolEvent;
}
