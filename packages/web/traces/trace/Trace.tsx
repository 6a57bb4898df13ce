/** The page of one trace. The address says which run is chosen, and how the runs are drawn. */
import { RotateCw, Play } from "lucide-react";
import { useCallback } from "react";
import { useSearchParams, useLocation } from "wouter";
import { Back, Page } from "../../resources/Page.tsx";
import { keepRange } from "../../resources/range.ts";
import { IconButton, Button } from "../../ui/Button.tsx";
import { useTrace, useRun } from "../queries.ts";
import { TraceView, parseView } from "./TraceView.tsx";
import { call } from "../../api/http.ts";
import { useAction } from "../../api/me.ts";
import css from "./trace.module.css";
import type { Span } from "../types.ts";

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

/** Runs the graph of a trace again with the same input, on a new thread. Only for runs of this server's graphs. */
function RunAgain({ root }: { root: Span }) {
  const run = useRun(root);
  const [, navigate] = useLocation();
  const { button, trouble, run: act } = useAction("threads.write", "runs.create");
  const assistant = run.data?.extra.metadata?.assistant_id;
  if (!run.data || typeof assistant !== "string") return null;
  const start = async () => {
    const { thread_id } = await call<{ thread_id: string }>("POST", "/threads", {});
    await call("POST", `/threads/${thread_id}/runs`, { assistant_id: assistant, input: run.data.inputs });
    navigate(`/chat/${thread_id}`);
  };
  return (
    <>
      {trouble !== "" && (
        <span className={css.trouble} role="alert">
          {trouble}
        </span>
      )}
      <Button
        disabled={button.disabled}
        title={button.title ?? "With the same input, on a new thread"}
        onClick={() => void act(start)}
      >
        <Play size={14} aria-hidden /> Run again
      </Button>
    </>
  );
}
