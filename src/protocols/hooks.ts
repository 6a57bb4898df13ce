/** The part of the protocols in a thread's object: sockets, streams of the streaming protocol, and A2A's tasks. */
import type { ReadLog, ThreadHooks, ThreadProtocol } from "../threads/object/thread.ts";
import { pushTask } from "./a2a/push.ts";
import { selectMethods } from "./streaming/events.ts";
import { type Dialect, markPauses, Pauses } from "./streaming/python.ts";
import type { Filter } from "./streaming/schema.ts";
import { protocolFraming, Sockets } from "./streaming/socket.ts";

class StreamingProtocol extends Sockets implements ThreadProtocol {
  readonly #pauses = new Pauses(() => this.thread.lastSeq());

  stream(filter: Filter, after: number, dialect: Dialect, read: ReadLog): ReadableStream<Uint8Array> {
    const { channels } = filter;
    const framing = protocolFraming(filter, dialect);
    const query = { after, methods: selectMethods(channels) };
    if (dialect !== "python") return read(query, framing);
    return this.#pauses.ordered(read(query, markPauses(framing, channels)), channels, after);
  }
}

export const threadHooks: ThreadHooks = {
  onTask: pushTask,
  openProtocol: (...given) => new StreamingProtocol(...given),
};
