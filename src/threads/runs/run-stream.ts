/** Where the classic stream of a run begins, for a client that may have seen a part of it. */
import { classicFraming, toEventMethods } from "../log/classic.ts";
import type { Framing, TailQuery } from "../log/events.ts";
import type { RunStream } from "../rpc.ts";
import type { StoredRun } from "../run.ts";
import type { Tables } from "../store/tables.ts";
import { seqOfCheckpoint } from "../log/prior-attempt.ts";

/** What to read of the log, and how to frame it. `visible` is the log's last sequence number. */
export function runStream(
  tables: Tables,
  run: StoredRun,
  visible: number,
  { modes = run.request.stream_mode ?? ["values"], seen: given = -1, checkpointId, ...options }: RunStream,
): { query: TailQuery; framing: Framing } {
  const { first_seq } = run.outcome;
  const seen = given > visible ? -1 : given;
  const start = first_seq === undefined ? visible : first_seq - 1;
  const shown = checkpointId && seen <= start ? seqOfCheckpoint(tables, start + 1, checkpointId) : undefined;
  const after = Math.max(seen, start, shown ?? 0);
  const { namespaces, cancelOnDisconnect } = options;
  const subgraphs = run.request.stream_subgraphs ?? false;
  return {
    // The `messages` mode shows messages so far, so it is framed from the run's first event on.
    query: {
      after: modes.includes("messages") ? start : after,
      seen: after,
      runId: run.id,
      methods: toEventMethods(modes),
      cancelOnDisconnect,
    },
    framing: classicFraming({ modes, subgraphs, after, namespaces }),
  };
}
