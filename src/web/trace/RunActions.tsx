/** What a person does with a run of a trace: score it. */
import { Thumbs } from "../feedback/Thumbs.tsx";
import css from "./actions.module.css";
import type { Span } from "./types.ts";

export function RunActions({ run }: { run: Span }) {
  return (
    <div className={css.actions}>
      <Thumbs run={{ id: run.id, project: run.project_id, start_time: run.start_time }} />
    </div>
  );
}
