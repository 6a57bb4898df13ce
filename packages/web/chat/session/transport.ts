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
    const answer = await ask(leave.signal);
    if (!answer.ok || !answer.body) return answer;
    const onEvent = (id: string) => {
      note(id);
      if (!document.hidden && !this.#running) this.#restSoon();
    };
    const connection = new Connection(ask, onEvent, () => this.#all.delete(connection));
    signal?.addEventListener("abort", () => connection.end());
    this.#all.add(connection);
    const body = connection.start(answer.body, leave);
    this.#update();
    return new Response(body, { status: answer.status, headers: answer.headers });
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
      const answer = await this.ask(leave.signal);
      if (!answer.ok || !answer.body) throw new Error(`The server answered ${answer.status}.`);
      await this.#pass(answer.body, leave);
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
