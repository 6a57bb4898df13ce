/** Actions on a run of a trace: score it, keep it as an example, queue it for review. */
import { useLocation } from "wouter";
import { useMay } from "../../api/me.ts";
import { AddTo } from "../collect/AddTo.tsx";
import { Thumbs } from "../feedback/Thumbs.tsx";
import { handOver, PLAYGROUND } from "../../console/playground/handover.ts";
import { Button } from "../../ui/Button.tsx";
import css from "./actions.module.css";
import type { RunDetails, Span, TraceRow } from "../types.ts";

export function RunActions({ run, data }: { run: Span; data: RunDetails | undefined }) {
  const { id, name, project_id: project, start_time } = run;
  return (
    <div className={css.actions}>
      <Thumbs run={{ id, project, start_time }} />
      {run.run_type.toLowerCase() === "llm" && <OpenInPlayground name={name} data={data} />}
      <AddTo look="quiet" runs={data ? [{ id, name, project, start_time }] : []} content={data} />
    </div>
  );
}

/** Only for a run of a model. Its contents are passed in memory. */
function OpenInPlayground({ name, data }: { name: string; data: RunDetails | undefined }) {
  const may = useMay();
  const [, navigate] = useLocation();
  if (!may("prompts.read")) return null;
  return (
    <Button
      look="quiet"
      disabled={!data}
      onClick={() => {
        if (!data) return;
        handOver({ id: data.id, name, inputs: data.inputs, extra: data.extra });
        navigate(PLAYGROUND);
      }}
    >
      Open in playground
    </Button>
  );
}

/** Adds found traces. */
export function AddFound({ rows }: { rows: TraceRow[] }) {
  const runs = rows.map(({ id, name, session_id: project, start_time, error, inputs_preview }) => ({
    id,
    name,
    project,
    start_time,
    preview: error ?? inputs_preview,
  }));
  return <AddTo runs={runs} />;
}
