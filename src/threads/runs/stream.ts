/** `GET /threads/{id}/stream`: the events of all runs of a thread, as they come, in the classic framing. */
import { sseFrame } from "../../http/sse.ts";
import { CLASSIC_MODES, ClassicFramer, toEventMethods, classicFraming } from "../log/classic.ts";
import type { EventText, Framing, TailQuery } from "../log/events.ts";
import type { StoredEvent } from "../log/segments.ts";
import type { RunRecord } from "../run.ts";
import type { Tables } from "../store/tables.ts";
import type { RunStream } from "../rpc.ts";
import { seqOfCheckpoint } from "../log/emit.ts";

const ENDS = new Set(["completed", "failed", "interrupted"]);

type RunOf = (runId: string) => RunRecord | undefined;

/** What to read of the log after a sequence number, and how to frame it. */
export function threadStream(
  tables: Tables,
  findRun: RunOf,
  modes: string[],
  after: number,
): { query: TailQuery; framing: Framing } {
  const framing = threadFraming(modes, findRun);
  const run = modes.includes("run_modes") ? runAfter(tables, findRun, after) : undefined;
  const { first_seq = after + 1 } = run?.outcome ?? {};
  // The `messages` mode shows messages so far, so it is framed from its run's first event on.
  const start = run?.request.stream_mode?.includes("messages") ? Math.min(first_seq - 1, after) : after;
  return {
    query: { after: start, seen: after, methods: [...toEventMethods(CLASSIC_MODES), "lifecycle"] },
    framing: (event) => {
      const frames = framing(event);
      return event.seq > after ? frames : "";
    },
  };
}

/** The run of the first event after a sequence number. */
function runAfter(tables: Tables, runOf: RunOf, after: number): RunRecord | undefined {
  for (const row of tables.eventsAfter(after)) {
    const next = (JSON.parse(row.events) as StoredEvent[]).find(({ seq }) => seq > after);
    if (next) return runOf(next.run);
  }
  return undefined;
}

/** `modes`: lifecycle, run_modes (each run's own stream modes), state_update. */
function threadFraming(modes: string[], runOf: RunOf): Framing {
  const wanted = new Set(modes);
  const framers = new Map<string, ClassicFramer>();
  const ofRun = (event: EventText): string => {
    let framer = framers.get(event.run);
    if (!framer) framers.set(event.run, (framer = chooseFramer(runOf(event.run))));
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

function chooseFramer(run: RunRecord | undefined): ClassicFramer {
  const { stream_mode: modes = ["values"], stream_subgraphs: subgraphs = false } = run?.request ?? {};
  return new ClassicFramer({ modes, subgraphs });
}

// Where the classic stream of a run begins, for a client that may have seen a part of it.

/** What to read of the log, and how to frame it. `visible` is the log's last sequence number. */
export function runStream(
  tables: Tables,
  run: RunRecord,
  visible: number,
  { modes = run.request.stream_mode ?? ["values"], seen: given = -1, checkpointId, ...options }: RunStream,
): { query: TailQuery; framing: Framing } {
  const { first_seq } = run.outcome;
  const seen = given > visible ? -1 : given;
  const start = first_seq === undefined ? visible : first_seq - 1;
  const shown = checkpointId && seen <= start ? seqOfCheckpoint(tables, start + 1, checkpointId) : undefined;
  const after = Math.max(seen, start, shown ?? 0);
  const { namespaces } = options;
  const subgraphs = run.request.stream_subgraphs ?? false;
  return {
    // The `messages` mode shows messages so far, so it is framed from the run's first event on.
    query: {
      after: modes.includes("messages") ? start : after,
      seen: after,
      runId: run.id,
      methods: toEventMethods(modes),
    },
    framing: classicFraming({ modes, subgraphs, after, namespaces }),
  };
}
