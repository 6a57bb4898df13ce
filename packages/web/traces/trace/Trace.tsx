/** The page of one trace. The address says which run is chosen, and how the runs are drawn. */
import { RotateCw } from "lucide-react";
import { useCallback } from "react";
import { useSearchParams } from "wouter";
import { Back } from "../../resources/Back.tsx";
import { Page } from "../../resources/Page.tsx";
import { keepRange } from "../../resources/range.ts";
import { IconButton } from "../../ui/IconButton.tsx";
import { useTrace } from "../queries.ts";
import { RunAgain } from "./RunAgain.tsx";
import { TraceView, parseView } from "./TraceView.tsx";

export function Trace({ traceId }: { traceId: string }) {
  const [params, setParams] = useSearchParams();
  const project = params.get("project");
  const trace = useTrace(traceId, project);
  const root = trace.data?.runs[0];
  const set = useCallback(
    (name: string, value: string) =>
      setParams(
        (now) => {
          const next = new URLSearchParams(now);
          next.set(name, value);
          return next;
        },
        { replace: true },
      ),
    [setParams],
  );
  const choose = useCallback((run: string) => set("run", run), [set]);
  const list = new URLSearchParams(keepRange(params.toString()));
  const from = project ?? root?.project_id;
  if (from !== undefined) list.set("project", from);
  return (
    <Page
      whole
      title={root?.name ?? "Trace"}
      back={<Back href={`/traces?${list}`} name="Traces" />}
      actions={
        <>
          {root && <RunAgain root={root} />}
          <IconButton label="Refresh" onClick={() => void trace.refetch()}>
            <RotateCw size={16} aria-hidden />
          </IconButton>
        </>
      }
    >
      <TraceView
        traceId={traceId}
        project={project}
        run={params.get("run")}
        view={parseView(params.get("view"))}
        onRun={choose}
        onView={(view) => set("view", view)}
      />
    </Page>
  );
}
