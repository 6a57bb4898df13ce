/** What a person does with a run of a trace: score it, keep it as an example, queue it for review. */
import { AddTo } from "../collect/AddTo.tsx";
import { Thumbs } from "../feedback/Thumbs.tsx";
import css from "./actions.module.css";
import type { RunDetails, Span, TraceRow } from "./types.ts";

export function RunActions({ run, data }: { run: Span; data: RunDetails | undefined }) {
  const { id, name, project_id: project, start_time } = run;
  return (
    <div className={css.actions}>
      <Thumbs run={{ id, project, start_time }} />
      <AddTo look="quiet" runs={data ? [{ id, name, project, start_time }] : []} content={data} />
    </div>
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
