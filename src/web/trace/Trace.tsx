/** One trace: its runs as a tree in time, and the one that is chosen. The address says which. */
import { ChevronLeft, RotateCw } from "lucide-react";
import { Link, useSearchParams } from "wouter";
import { LoadFailed, Notice } from "../chat/Empty.tsx";
import { Bare } from "../chat/Header.tsx";
import header from "../chat/Header.module.css";
import { Button } from "../ui/Button.tsx";
import controls from "../ui/controls.module.css";
import { IconButton } from "../ui/IconButton.tsx";
import { Details } from "./Details.tsx";
import { useTrace } from "./queries.ts";
import { useTitle } from "../ui/title.ts";
import css from "./trace.module.css";
import { Tree } from "./Tree.tsx";

export function Trace({ traceId }: { traceId: string }) {
  const [params, setParams] = useSearchParams();
  const project = params.get("project");
  const trace = useTrace(traceId, project);
  const runs = trace.data ?? [];
  const chosen = runs.find((run) => run.id === params.get("run")) ?? runs[0];
  const name = runs[0]?.name ?? "Trace";
  useTitle(name);
  const choose = (run: string) =>
    setParams(
      (now) => {
        const next = new URLSearchParams(now);
        next.set("run", run);
        return next;
      },
      { replace: true },
    );
  const from = project ?? runs[0]?.project_id;
  return (
    <Bare
      head={
        <>
          <Link
            href={from === undefined ? "/traces" : `/traces?project=${from}`}
            className={`${controls.button} ${controls.quiet} ${css.back}`}
          >
            <ChevronLeft size={14} aria-hidden /> Traces
          </Link>
          <h1 className={header.title} title={name}>
            {name}
          </h1>
          <IconButton label="Read the trace again" onClick={() => void trace.refetch()}>
            <RotateCw size={16} aria-hidden />
          </IconButton>
        </>
      }
    >
      {trace.isPending && (
        <p className={css.note} role="status">
          Loading…
        </p>
      )}
      {trace.error && !trace.data && (
        <LoadFailed title="The trace did not load." error={trace.error.message} onRetry={() => void trace.refetch()} />
      )}
      {trace.data && !chosen && (
        <Notice
          title="No trace with this id in this workspace."
          text="The trace of a run is written after the run’s end, so it may be on its way. A server with TRACE_PROJECT set to nothing writes none of its own runs."
        >
          <div>
            <Button disabled={trace.isFetching} onClick={() => void trace.refetch()}>
              Look again
            </Button>
          </div>
        </Notice>
      )}
      {chosen && (
        <div className={css.split} id="traces" tabIndex={-1}>
          <Tree runs={runs} now={trace.dataUpdatedAt} chosen={chosen.id} onChoose={choose} />
          <Details key={chosen.id} run={chosen} />
        </div>
      )}
    </Bare>
  );
}
