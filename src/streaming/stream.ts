/** The protocol over SSE: the past events of the thread, then new ones, run after run. The server does not end it. */
import { sseFrame } from "../http/sse.ts";
import type { Framing } from "../threads/log/events.ts";
import type { ThreadRpc } from "../threads/rpc.ts";
import { type Dialect, eventsIn } from "./dialect.ts";
import { seqOfEventId } from "../protocols/streaming/events.ts";
import { matcher } from "./filter.ts";
import type { Filter } from "../protocols/streaming/schema.ts";

/** The sequence number after which a reader resumes. A cursor beyond the end of the log belongs to a deleted log. */
export async function findStart(thread: ThreadRpc, filter: Filter, lastEventId?: string): Promise<number> {
  const cursors = [lastEventId, filter.since_event_id].map((id) => (id == null ? 0 : (seqOfEventId(id) ?? 0)));
  const run = filter.since_run == null ? undefined : await thread.firstSeq(filter.since_run);
  const ended = filter.after_run == null ? undefined : await thread.lastSeq(filter.after_run);
  const after = Math.max(filter.since ?? 0, (run ?? 1) - 1, ended ?? 0, ...cursors);
  return after > 0 && after > (await thread.lastSeq()) ? 0 : after;
}

export function protocolFraming(filter: Filter, dialect: Dialect): Framing {
  const matches = matcher(filter);
  const show = eventsIn(dialect, filter.channels);
  return (event) => {
    const shown = show(event);
    return shown && matches(shown) ? sseFrame({ event: shown.method, data: shown.json, id: shown.id }) : "";
  };
}
