/**
 * The connections of a conversation's streams. A browser keeps six connections to a server over HTTP/1.1, for all its tabs
 * together, so a hidden tab keeps none, and a window without focus keeps them only while a run is in progress. A hidden tab whose
 * run is in progress looks from time to time: messages that wait for the run's end are sent then, and the title says what waits.
 * The client of the stream does not notice: its response stays open, and continues after the last event.
 */

/** Milliseconds between two looks of a hidden tab, and for which each keeps a connection. */
const LOOK_EVERY = 8_000;
const LOOK_FOR = 1_500;

/** Requests the stream, after the last event that was passed on. */
type Ask = (signal: AbortSignal) => Promise<Response>;

export class Connections {
  #all = new Set<Connection>();
  #running = false;
  #looking: ReturnType<typeof setTimeout> | undefined;

  /** Follows the tab until the returned function is called. */
  watch(): () => void {
    const update = () => this.#update();
    document.addEventListener("visibilitychange", update);
    for (const event of ["focus", "blur"]) addEventListener(event, update);
    return () => {
      clearTimeout(this.#looking);
      document.removeEventListener("visibilitychange", update);
      for (const event of ["focus", "blur"]) removeEventListener(event, update);
    };
  }

  setRunning(running: boolean): void {
    this.#running = running;
    this.#update();
  }

  /** Opens a stream. `note` gets the id of the last event of each part that is passed on. */
  async open(ask: Ask, note: (id: string) => void, signal: AbortSignal | undefined): Promise<Response> {
    const leave = new AbortController();
    signal?.addEventListener("abort", () => leave.abort());
    const answer = await ask(leave.signal);
    if (!answer.ok || !answer.body) return answer;
    const connection = new Connection(ask, note, () => this.#all.delete(connection));
    signal?.addEventListener("abort", () => connection.end());
    this.#all.add(connection);
    const body = connection.start(answer.body, leave);
    this.#update();
    return new Response(body, { status: answer.status, headers: answer.headers });
  }

  #update(): void {
    clearTimeout(this.#looking);
    const rests = document.hidden || (!this.#running && !document.hasFocus());
    this.#setOpen(!rests);
    if (document.hidden && this.#running) this.#looking = setTimeout(() => this.#look(), LOOK_EVERY);
  }

  #look(): void {
    this.#setOpen(true);
    this.#looking = setTimeout(() => this.#update(), LOOK_FOR);
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
    try {
      for (let rest = ""; ;) {
        const { value, done } = await reader.read();
        if (leave.signal.aborted) return;
        if (done) return this.#finish((controller) => controller.close());
        const text = rest + value;
        const end = text.lastIndexOf("\n\n") + 2;
        rest = end < 2 ? text : text.slice(end);
        if (end < 2) continue;
        const frames = text.slice(0, end);
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
