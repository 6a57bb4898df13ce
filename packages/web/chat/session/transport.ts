import { authFetch } from "../../api/http.ts";
import { forgetState, readState } from "../../api/state.ts";

/**
 * The connections of a conversation's streams. A browser keeps six connections to a server over HTTP/1.1, for all its tabs
 * together, so a stream is connected only while a run is open, and never in a hidden tab. A hidden tab whose run is open looks from
 * time to time: messages that wait for the run's end are sent then, and the title says what waits.
 * The client of the stream does not notice: its response stays open, and continues after the last event.
 */

/** Milliseconds between two looks of a hidden tab, and for which each keeps a connection. */
const LOOK_EVERY = 8_000;
const LOOK_FOR = 1_500;
/** Milliseconds without an event after which a stream without a run rests: the last events follow the end of a run. */
const QUIET_MS = 3_000;
/** Milliseconds without a byte, of which the server sends some every 5 s, after which a connection is taken for lost. */
const SILENT_MS = 20_000;
/** Only the server's own watch needs it: a stream that rests has none. */
const HEARTBEAT = /^:.*\n\n/gm;

/** Requests the stream, after the last event that was passed on. */
type Ask = (signal: AbortSignal) => Promise<Response>;

export class Connections {
  #all = new Set<Connection>();
  #running = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Follows the tab until the returned function is called. */
  watch(): () => void {
    const update = () => this.#update();
    document.addEventListener("visibilitychange", update);
    return () => {
      clearTimeout(this.#timer);
      document.removeEventListener("visibilitychange", update);
    };
  }

  /** Whether a run of the thread is open, or may be. */
  setRunning(running: boolean): void {
    if (running === this.#running) return;
    this.#running = running;
    this.#update();
  }

  /** Opens a stream. `note` gets the id of the last event of each part that is passed on. */
  async open(ask: Ask, note: (id: string) => void, signal: AbortSignal | undefined): Promise<Response> {
    const leave = new AbortController();
    signal?.addEventListener("abort", () => leave.abort());
    const response = await ask(leave.signal);
    if (!response.ok || !response.body) return response;
    const onEvent = (id: string) => {
      note(id);
      if (!document.hidden && !this.#running) this.#restSoon();
    };
    const connection = new Connection(ask, onEvent, () => this.#all.delete(connection));
    signal?.addEventListener("abort", () => connection.end());
    this.#all.add(connection);
    const body = connection.start(response.body, leave);
    this.#update();
    return new Response(body, { status: response.status, headers: response.headers });
  }

  #update(): void {
    clearTimeout(this.#timer);
    this.#setOpen(!document.hidden);
    if (document.hidden && this.#running) this.#timer = setTimeout(() => this.#look(), LOOK_EVERY);
    if (!document.hidden && !this.#running) this.#restSoon();
  }

  #restSoon(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#setOpen(false), QUIET_MS);
  }

  #look(): void {
    this.#setOpen(true);
    this.#timer = setTimeout(() => this.#update(), LOOK_FOR);
  }

  #setOpen(isOpen: boolean): void {
    for (const connection of this.#all) {
      if (isOpen) void connection.wake();
      else connection.rest();
    }
  }
}

class Connection {
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  /** Ends the request. Undefined while the connection rests. */
  #leave: AbortController | undefined;
  #ended = false;

  constructor(
    private readonly ask: Ask,
    private readonly note: (id: string) => void,
    private readonly onEnd: () => void,
  ) {}

  start(source: ReadableStream<Uint8Array>, leave: AbortController): ReadableStream<Uint8Array> {
    this.#leave = leave;
    return new ReadableStream({
      start: (controller) => {
        this.#controller = controller;
        void this.#pass(source, leave);
      },
      cancel: () => this.end(),
    });
  }

  rest(): void {
    this.#leave?.abort();
    this.#leave = undefined;
  }

  async wake(): Promise<void> {
    if (this.#ended || this.#leave) return;
    const leave = (this.#leave = new AbortController());
    try {
      const response = await this.ask(leave.signal);
      if (!response.ok || !response.body) throw new Error(`The server answered ${response.status}.`);
      await this.#pass(response.body, leave);
    } catch (error) {
      if (!leave.signal.aborted) this.#finish((controller) => controller.error(error));
    }
  }

  end(): void {
    this.rest();
    this.#finish();
  }

  /** Passes whole frames on: half of one could not be completed after a rest. */
  async #pass(source: ReadableStream<Uint8Array>, leave: AbortController): Promise<void> {
    const encoder = new TextEncoder();
    const reader = source.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
    const lose = () => {
      leave.abort();
      this.#finish((controller) => controller.error(new Error("The connection was lost.")));
    };
    try {
      for (let rest = ""; ;) {
        const silence = setTimeout(lose, SILENT_MS);
        const { value, done } = await reader.read().finally(() => clearTimeout(silence));
        if (leave.signal.aborted) return;
        if (done) return this.#finish((controller) => controller.close());
        const text = rest + value;
        const end = text.lastIndexOf("\n\n") + 2;
        rest = end < 2 ? text : text.slice(end);
        if (end < 2) continue;
        const frames = text.slice(0, end).replaceAll(HEARTBEAT, "");
        if (frames === "") continue;
        this.#controller?.enqueue(encoder.encode(frames));
        const id = [...frames.matchAll(/^id: ?(.+)$/gm)].at(-1)?.[1];
        if (id) this.note(id);
      }
    } catch (error) {
      if (!leave.signal.aborted) this.#finish((controller) => controller.error(error));
    }
  }

  #finish(how?: (controller: ReadableStreamDefaultController<Uint8Array>) => void): void {
    if (this.#ended) return;
    this.#ended = true;
    this.onEnd();
    if (this.#controller) how?.(this.#controller);
  }
}

// The stream's `fetch`. It keeps the server from replaying what the page has read as the thread's state.

interface Filter {
  channels: string[];
  namespaces?: unknown[][];
  depth?: number;
  since?: number;
}

/** The newest run of a thread, if it has one. */
export interface NewestRun {
  id: string | undefined;
  /** It has not ended. */
  open: boolean;
}

/** The state has what a run that has ended left. Its messages may be of a branch that was abandoned since. */
const startAt = ({ id, open }: NewestRun) => (id === undefined ? {} : open ? { since_run: id } : { after_run: id });

/** The client watches the runs of subagents, and what they ask, by a subscription of its own. */
const isWatch = ({ channels, namespaces }: Filter) => channels.join() === "lifecycle,input" && namespaces === undefined;

/** True for the thread itself, not for a subagent. */
const ofRoot = ({ namespaces = [] }: Filter) => namespaces.every((namespace) => namespace.length === 0);

/**
 * The client subscribes without a cursor and reads the thread's events from the first one, at each reconnect again. Here a
 * subscription starts at the run in progress or after the newest one of when the thread was opened, and a repeated one after
 * its last event. A subscription to a subagent (`namespaces`) still reads from the beginning: its run may be any of the thread's.
 * One connection has the events of all namespaces: the client gives them to the subscriptions that want them, and the one that
 * watches gets none.
 */
export function streamFetch(newest: NewestRun, connections: Connections): typeof fetch {
  let run = newest;
  /** Whether the thread has called any. */
  let subagents: boolean | undefined;
  const seen = new Map<string, string>();
  return async (input, init) => {
    const path = new URL(input instanceof Request ? input.url : input, location.origin).pathname;
    if (path.endsWith("/stream/events") && typeof init?.body === "string") {
      const { body } = init;
      const filter = JSON.parse(body) as Filter;
      if (isWatch(filter))
        return new Response(openUntil(init.signal), { headers: { "content-type": "text/event-stream" } });
      const { namespaces: _namespaces, depth: _depth, ...all } = filter;
      const first = filter.since !== undefined || !ofRoot(filter) ? {} : startAt(run);
      const ask = (signal: AbortSignal) => {
        const last = seen.get(body);
        const from = last === undefined ? first : { since_event_id: last };
        return authFetch(input, { ...init, signal, body: JSON.stringify({ ...all, ...from }) });
      };
      return connections.open(ask, (id) => seen.set(body, id), init.signal ?? undefined);
    }
    const state = /\/threads\/([^/]+)\/state$/.exec(path)?.[1];
    if (state !== undefined && (init?.method ?? "GET") === "GET") {
      const read = await readState(state);
      subagents = (read?.values?.messages ?? []).some(({ tool_calls = [] }) =>
        tool_calls.some(({ name }) => name === "task"),
      );
      return read ? Response.json(read) : new Response(null, { status: 404 });
    }
    // The client looks for subagents in 20 states with all their values.
    if (path.endsWith("/history") && subagents === false) return Response.json([]);
    const response = await authFetch(input, init);
    const commanded = /\/threads\/([^/]+)\/commands$/.exec(path)?.[1];
    if (commanded === undefined) return response;
    forgetState(commanded);
    const started = response.ok ? await startedRun(response.clone()) : undefined;
    if (started !== undefined) run = { id: started, open: true };
    return response;
  };
}

/** The answer to a command that started a run names it. */
async function startedRun(response: Response): Promise<string | undefined> {
  const { result } = (await response.json()) as { result?: { run_id?: unknown } };
  return typeof result?.run_id === "string" ? result.run_id : undefined;
}

/** A body without events, which fails as that of a request does when `signal` aborts. */
const openUntil = (signal: AbortSignal | null | undefined) =>
  new ReadableStream({
    start: (controller) => signal?.addEventListener("abort", () => controller.error(signal.reason), { once: true }),
  });
