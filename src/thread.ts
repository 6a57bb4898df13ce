/** The Durable Object of a thread, put together: threads/ runs it, streaming/ has its sockets, a2a/ its tasks. Wiring only. */
import { pushTask } from "./protocols/a2a/push.ts";
import type { Dialect } from "./streaming/dialect.ts";
import { selectMethods } from "./protocols/streaming/events.ts";
import type { Filter } from "./protocols/streaming/schema.ts";
import { markPauses, Pauses } from "./protocols/streaming/python.ts";
import { Sockets } from "./protocols/streaming/socket.ts";
import { protocolFraming } from "./streaming/stream.ts";
import { isSleeper } from "./threads/log/sleepers.ts";
import { sleepAfter } from "./threads/remote/sleep.ts";
import { ThreadObject } from "./threads/object/thread.ts";

export class Thread extends ThreadObject {
  private readonly sockets: Sockets;
  private readonly pauses = new Pauses(() => this.lastSeq());

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, pushTask);
    this.sockets = new Sockets(ctx, env, this, (query, framing) => this.read(query, framing, true));
  }

  override async fetch(request: Request): Promise<Response> {
    await this.unlock();
    const after = sleepAfter(request.url);
    return after === undefined ? this.sockets.accept(request) : this.sleepers.accept(after);
  }

  async streamEvents(filter: Filter, after: number, dialect: Dialect): Promise<ReadableStream<Uint8Array>> {
    const { channels } = filter;
    const framing = protocolFraming(filter, dialect);
    const query = { after, methods: selectMethods(channels) };
    if (dialect !== "python") return this.read(query, framing);
    return this.pauses.ordered(this.read(query, markPauses(framing, channels)), channels, after);
  }

  override async webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): Promise<void> {
    await this.unlock();
    if (!isSleeper(this.ctx, socket)) await this.sockets.onMessage(socket, message);
  }

  override async webSocketClose(socket: WebSocket, code: number): Promise<void> {
    if (isSleeper(this.ctx, socket)) this.sleepers.onClose(socket);
    else await this.sockets.onClose(socket, code);
  }

  override async webSocketError(socket: WebSocket): Promise<void> {
    if (isSleeper(this.ctx, socket)) this.sleepers.onClose(socket);
    else await this.sockets.onError(socket);
  }
}
