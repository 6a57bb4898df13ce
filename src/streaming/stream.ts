/** The protocol over SSE: what has happened on the thread, then what happens, run after run. It never ends by itself. */
import { sseFrame, sseResponse } from "../http/sse.ts";
import { readLines, type ThreadRpc } from "../threads/rpc.ts";
import { methodsOf, protocolEvent, seqOfEventId } from "./events.ts";
import { matcher } from "./filter.ts";
import type { Filter } from "./schema.ts";

/** Streams what the filter picks. `lastEventId` (the header), `since_event_id` and `since` each say where to go on. */
export async function eventStream(thread: ThreadRpc, filter: Filter, lastEventId?: string): Promise<Response> {
  const after = await startOf(thread, filter, lastEventId);
  const bytes = await thread.follow({ after, methods: methodsOf(filter.channels) });
  return sseResponse(frames(bytes, filter));
}

/** The sequence number after which a reader goes on. A cursor that the log has not reached is of a log that is gone. */
export async function startOf(thread: ThreadRpc, filter: Filter, lastEventId?: string): Promise<number> {
  const cursors = [lastEventId, filter.since_event_id].map((id) => (id == null ? 0 : (seqOfEventId(id) ?? 0)));
  const after = Math.max(filter.since ?? 0, ...cursors);
  return after > 0 && after > (await thread.lastSeq()) ? 0 : after;
}

/** Many frames a step: what one read of the log brought goes out together. */
function frames(bytes: ReadableStream<Uint8Array>, filter: Filter): AsyncIterator<string> {
  const reader = bytes.getReader();
  const lines = readLines();
  const matches = matcher(filter);
  return {
    async next() {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return { done: true, value: undefined };
        let text = "";
        for (const logged of lines(value)) {
          const event = protocolEvent(logged);
          if (!event || !matches(event)) continue;
          text += sseFrame({ event: event.method, data: JSON.stringify(event), id: event.event_id });
        }
        if (text) return { done: false, value: text };
      }
    },
    // Not a generator: its `return` would wait for a read that may never come.
    async return() {
      await reader.cancel();
      return { done: true, value: undefined };
    },
  };
}
