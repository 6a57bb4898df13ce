/** `GET /threads/{id}/stream`: the events of all runs of a thread, as they come, in the classic framing. */
import { sseFrame } from "../../http/sse.ts";
import { ClassicFramer } from "../log/classic.ts";
import type { EventText, Framing } from "../log/events.ts";
import type { StoredRun } from "../run.ts";

const ENDS = new Set(["completed", "failed", "interrupted"]);

/** `modes`: lifecycle, run_modes (each run's own stream modes), state_update. */
export function threadFraming(modes: string[], runOf: (runId: string) => StoredRun | undefined): Framing {
  const wanted = new Set(modes);
  const framers = new Map<string, ClassicFramer>();
  const ofRun = (event: EventText): string => {
    let framer = framers.get(event.run);
    if (!framer) framers.set(event.run, (framer = framerOf(runOf(event.run))));
    return framer.frames(event);
  };
  return (event) => {
    const id = String(event.seq);
    const isRoot = event.ns.length === 0;
    let frames = wanted.has("run_modes") ? ofRun(event) : "";
    if (wanted.has("state_update") && event.method === "values" && isRoot)
      frames += sseFrame({ event: "state_update", data: event.text(), id });
    if (event.method !== "lifecycle" || !isRoot) return frames;
    const { event: status } = JSON.parse(event.text()) as { event: string };
    if (wanted.has("lifecycle"))
      frames += sseFrame({ event: "lifecycle", data: JSON.stringify({ run_id: event.run, event: status }), id });
    if (!ENDS.has(status)) return frames;
    framers.delete(event.run);
    return (
      frames + sseFrame({ event: "metadata", data: JSON.stringify({ status: "run_done", run_id: event.run }), id })
    );
  };
}

function framerOf(run: StoredRun | undefined): ClassicFramer {
  const { stream_mode: modes = ["values"], stream_subgraphs: subgraphs = false } = run?.request ?? {};
  return new ClassicFramer({ modes, subgraphs });
}
