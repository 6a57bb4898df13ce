/** The runs of one trace and the details of the chosen one: beside the list as a peek, or as a page. */
import { lazy, Suspense, useDeferredValue } from "react";
import { Empty, Failed, Loading } from "../../resources/states.tsx";
import { Button } from "../../ui/Button.tsx";
import { Details } from "./Details.tsx";
import { useTrace } from "../queries.ts";
import css from "./trace.module.css";
import { Tree } from "./Tree.tsx";

const Graph = lazy(() => import("../graph/Graph.tsx"));

const VIEWS = ["tree", "timeline", "graph"] as const;

export type View = (typeof VIEWS)[number];

export const parseView = (text: string | null): View => VIEWS.find((one) => one === text) ?? "tree";

export function TraceView({
  traceId,
  project,
  run,
  view,
  onRun,
  onView,
}: {
  traceId: string;
  project: string | null;
  /** The chosen run; the root when it is not in the trace. */
  run: string | null;
  view: View;
  onRun: (id: string) => void;
  onView: (view: View) => void;
}) {
  const trace = useTrace(traceId, project);
  const { runs = [], more = false } = trace.data ?? {};
  const wanted = runs.find(({ id }) => id === run);
  // A run that is not among the first ones may be among the others.
  const chosen = wanted ?? (more && run !== null ? undefined : runs[0]);
  // The tree is drawn first and answers a key at once. The details of a run may take longer to draw.
  const detailed = useDeferredValue(chosen);
  if (!trace.data || (more && (trace.error || !chosen || view === "graph")))
    return trace.error ? (
      <div className={css.state}>
        <Failed title="The trace did not load." error={trace.error} onRetry={() => void trace.refetch()} />
      </div>
    ) : (
      <div className={css.state}>
        <Loading />
      </div>
    );
  if (!chosen)
    return (
      <div className={css.state}>
        <Empty
          title="No trace with this id in this workspace."
          text="The trace of a run is written after the run’s end, so it may be on its way. A server with an empty TRACE_PROJECT does not trace its own runs."
        >
          <Button disabled={trace.isFetching} onClick={() => void trace.refetch()}>
            Look again
          </Button>
        </Empty>
      </div>
    );
  return (
    <>
      <div className={css.views} role="group" aria-label="View">
        {VIEWS.map((one) => (
          <button key={one} type="button" aria-pressed={one === view} onClick={() => onView(one)}>
            {one[0]?.toUpperCase()}
            {one.slice(1)}
          </button>
        ))}
      </div>
      <div className={css.split} data-view={view}>
        {view === "graph" ? (
          <Suspense fallback={<Loading />}>
            <Graph runs={runs} chosen={chosen.id} onChoose={onRun} />
          </Suspense>
        ) : (
          <Tree runs={runs} more={more} now={trace.dataUpdatedAt} chosen={chosen.id} view={view} onChoose={onRun} />
        )}
        {detailed ? <Details key={detailed.id} run={detailed} /> : <div />}
      </div>
    </>
  );
}
