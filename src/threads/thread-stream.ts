/** `GET /threads/{id}/stream`: the events of all runs of a thread, as they come, in the classic framing. */
import { sseFrame, sseResponse } from "../http/sse.ts";
import { ClassicFramer } from "./classic.ts";
import { readEvents, type LogEvent, type ThreadRpc } from "./rpc.ts";

const ENDS = new Set(["completed", "failed", "interrupted"]);

/** `modes`: lifecycle, run_modes (each run's own stream modes), state_update. Never ends by itself. */
export async function threadEvents(thread: ThreadRpc, modes: string[], lastEventId?: string): Promise<Response> {
  const after = lastEventId === undefined ? await thread.lastSeq() : Math.max(Number(lastEventId) || 0, 0);
  const events = readEvents(await thread.follow({ after }));
  return sseResponse(frames(thread, events, new Set(modes)));
}

async function* frames(
  thread: ThreadRpc,
  events: AsyncGenerator<LogEvent>,
  modes: Set<string>,
): AsyncGenerator<string> {
  const framers = new Map<string, ClassicFramer>();
  for await (const event of events) {
    const id = String(event.seq);
    if (modes.has("run_modes")) {
      let framer = framers.get(event.run);
      if (!framer) framers.set(event.run, (framer = await framerOf(thread, event.run)));
      for (const frame of framer.frames(event)) yield sseFrame({ ...frame, id });
    }
    if (modes.has("state_update") && event.method === "values" && event.ns.length === 0) {
      yield sseFrame({ event: "state_update", data: JSON.stringify(event.data), id });
    }
    const status = event.method === "lifecycle" && event.ns.length === 0 ? (event.data as { event: string }).event : "";
    if (modes.has("lifecycle") && status)
      yield sseFrame({ event: "lifecycle", data: JSON.stringify({ run_id: event.run, event: status }), id });
    if (!ENDS.has(status)) continue;
    framers.delete(event.run);
    yield sseFrame({ event: "metadata", data: JSON.stringify({ status: "run_done", run_id: event.run }), id });
  }
}

async function framerOf(thread: ThreadRpc, runId: string): Promise<ClassicFramer> {
  const kwargs = (await thread.getRun(runId))?.kwargs as { stream_mode?: string[]; subgraphs?: boolean } | undefined;
  return new ClassicFramer({
    modes: kwargs?.stream_mode ?? ["values"],
    subgraphs: kwargs?.subgraphs ?? false,
    after: 0,
  });
}
