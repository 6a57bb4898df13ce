/** The decisions of the path in view, also those of another tab and of another day. */
import { useMemo } from "react";
import { useRunDetails } from "../../api/queries.ts";
import type { RawMessage } from "../../api/types.ts";
import { type Decided, decidedBy } from "./past.ts";
import { mayResumeAfter, resumedRuns } from "../../api/checkpoints.ts";
import type { Thread } from "../session/reducer.ts";

/** The number of runs whose answers are read. */
const MOST = 50;

export function useDecided(threadId: string | undefined, thread: Thread, messages: RawMessage[]): Decided[] {
  const { steps, at, said } = thread;
  const resumed = useMemo(() => resumedRuns(steps, at).slice(-MOST), [steps, at]);
  const runs = useRunDetails(
    threadId,
    resumed.map(({ run }) => run),
  );
  const details = runs.map(({ data }) => data);
  const key = details.map((run) => run?.run_id ?? "").join();
  return useMemo(() => {
    const known = resumed.flatMap((one, i) => {
      const run = details[i];
      return run
        ? decidedBy({ ...one, at: run.created_at, answered: run.answered }, run.kwargs?.command?.resume, messages)
        : [];
    });
    const seen = new Set(known.map(({ after }) => after));
    const fresh = said.filter(({ after }) => !seen.has(after) && mayResumeAfter(steps, at, after));
    return [...known, ...fresh.map((one, i): Decided => ({ ...one, id: `said-${i}` }))];
    // The details differ by the runs that have arrived.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [steps, at, resumed, key, messages, said]);
}
