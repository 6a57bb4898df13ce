/**
 * Readers that wait while no run is in progress. Each is a hibernatable WebSocket from the Worker, so the object may leave memory
 * although clients follow it over SSE. The socket closes when there is something to read.
 */
import type { EventLog } from "./event-log.ts";

/** The close codes: the log has changed; the thread was deleted. */
export const CHANGED = 1000;
export const GONE = 4404;

/** What a sleeper sends, and gets back, to see whether the connection holds. The platform answers without starting the object. */
export const PROBE = "\u{1}";

const SLEEPER = "sleeper";

export class Sleepers {
  #unfollow: (() => void) | undefined;

  constructor(
    private readonly ctx: DurableObjectState,
    private readonly log: EventLog,
  ) {
    if (this.count > 0) this.#follow();
  }

  get count(): number {
    return this.ctx.getWebSockets(SLEEPER).filter(({ readyState }) => readyState === WebSocket.OPEN).length;
  }

  /** Accepts a reader that has seen the log up to this sequence number. */
  accept(seen: number): Response {
    const [client, server] = Object.values(new WebSocketPair()) as [WebSocket, WebSocket];
    this.ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair(PROBE, PROBE));
    this.ctx.acceptWebSocket(server, [SLEEPER]);
    if (this.log.visible === seen) this.#follow();
    else server.close(CHANGED);
    return new Response(null, { status: 101, webSocket: client });
  }

  /** Open streams, those of WebSockets and of sleepers included, WebSockets of clients, and sleepers. */
  figures(): { streams: number; sockets: number; asleep: number } {
    const asleep = this.count;
    // One reader of the log represents all sleepers.
    const streams = this.log.readers + Math.max(0, asleep - 1);
    return { streams, sockets: this.ctx.getWebSockets().length - asleep, asleep };
  }

  /** A reader has left. */
  onClose(socket: WebSocket): void {
    socket.close(CHANGED);
    if (this.count === 0) this.#stop();
  }

  #follow(): void {
    this.#unfollow ??= this.log.follow(() => this.#wake());
  }

  #stop(): void {
    this.#unfollow?.();
    this.#unfollow = undefined;
  }

  #wake(): void {
    this.#stop();
    for (const socket of this.ctx.getWebSockets(SLEEPER)) socket.close(this.log.ended ? GONE : CHANGED);
  }
}

export const isSleeper = (ctx: DurableObjectState, socket: WebSocket): boolean => ctx.getTags(socket).includes(SLEEPER);

// The Worker's side of a reader that waits while no run is in progress (see log/sleepers.ts).

/** Waits until the log has changed after a sequence number. */
export interface Sleep {
  /** False when the thread was deleted. */
  woken: Promise<boolean>;
  /** Ends the wait: `woken` resolves. */
  leave: () => void;
}

/** The object of the thread. */
type Sleeping = Pick<ReturnType<Env["THREAD"]["get"]>, "fetch">;

/** Milliseconds between two probes of the connection. One that was not answered when the next is due is broken. */
const PROBE_MS = 30_000;

const URL_PREFIX = "https://thread/sleep/";

/** The sequence number in the address of a sleep; undefined for the address of anything else. */
export function sleepAfter(url: string): number | undefined {
  return url.startsWith(URL_PREFIX) ? Number(url.slice(URL_PREFIX.length)) : undefined;
}

/** A connection that fails counts as a change: the reader then looks again, and meets the error if it lasts. */
export function sleepOn(object: Sleeping, after: number): Sleep {
  let finish: (changed: boolean) => void = () => undefined;
  const woken = new Promise<boolean>((resolve) => (finish = resolve));
  const wait = async () => {
    const { webSocket: socket } = await object.fetch(URL_PREFIX + String(after), { headers: { upgrade: "websocket" } });
    if (!socket) return finish(true);
    let answered = true;
    socket.addEventListener("message", () => (answered = true));
    socket.addEventListener("close", ({ code }) => finish(code !== GONE));
    socket.addEventListener("error", () => finish(true));
    socket.accept();
    const timer = setInterval(() => {
      if (!answered) return finish(true);
      answered = false;
      socket.send(PROBE);
    }, PROBE_MS);
    await woken;
    clearInterval(timer);
    socket.close();
  };
  wait().catch(() => finish(true));
  return { woken, leave: () => finish(false) };
}
