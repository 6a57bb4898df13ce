import { type ReactNode, useId, useState } from "react";
import { useAssistants } from "../../api/queries.ts";
import { useAction } from "../../api/me.ts";
import { Button } from "../../ui/Button.tsx";
import controls from "../../ui/controls.module.css";
import work from "../../resources/work.module.css";
import type { FormProps } from "../../resources/NewPage.tsx";
import type { Draft, ThreadChoice } from "./draft.ts";
import { nextTimes, Schedule } from "./Schedule.tsx";
import type { Cron } from "../../../../src/automation/crons/wire.ts";
import { Trouble } from "../../resources/Trouble.tsx";

/** The form of a new cron, or of one that is there: then its assistant and its thread are fixed. */
export function CronForm({ row, start, onSave, onCancel }: FormProps<Cron, Draft>) {
  const id = useId();
  const assistants = useAssistants();
  const [draft, setDraft] = useState(start);
  const isNew = row === undefined;
  const saving = useAction("crons.write");
  const set = (change: Partial<Draft>) => setDraft((now) => ({ ...now, ...change }));
  return (
    <form
      className={work.form}
      onSubmit={(event) => {
        event.preventDefault();
        void saving.run(() => onSave(draft));
      }}
    >
      {isNew && (
        <Field id={`${id}-assistant`} label="Assistant">
          <select
            id={`${id}-assistant`}
            className={controls.field}
            value={draft.assistant}
            onChange={(event) => set({ assistant: event.target.value })}
          >
            {assistants.data?.map((one) => (
              <option key={one.assistant_id} value={one.assistant_id}>
                {one.name}
              </option>
            ))}
          </select>
        </Field>
      )}
      <Schedule
        schedule={draft.schedule}
        timezone={draft.timezone}
        onSchedule={(schedule) => set({ schedule })}
        onTimezone={(timezone) => set({ timezone })}
      />
      <Field id={`${id}-input`} label="Input" help="The input of each run, as JSON.">
        <textarea
          id={`${id}-input`}
          className={`${controls.field} ${controls.json}`}
          rows={Math.min(14, draft.input.split("\n").length + 1)}
          spellCheck={false}
          value={draft.input}
          aria-describedby={`${id}-input-note`}
          onChange={(event) => set({ input: event.target.value })}
        />
      </Field>
      {(isNew || draft.threadChoice !== "thread") && (
        <Field id={`${id}-place`} label="Thread">
          <select
            id={`${id}-place`}
            className={controls.field}
            value={draft.threadChoice}
            onChange={(event) => set({ threadChoice: event.target.value as ThreadChoice })}
          >
            <option value="keep">A new thread for each run, kept</option>
            <option value="delete">A new thread for each run, deleted after it</option>
            {isNew && <option value="thread">Always the same thread</option>}
          </select>
        </Field>
      )}
      {isNew && draft.threadChoice === "thread" && (
        <Field id={`${id}-thread`} label="Thread ID" help="The runs continue this thread. The cron is deleted with it.">
          <input
            id={`${id}-thread`}
            className={`${controls.field} ${controls.json}`}
            autoComplete="off"
            required
            value={draft.thread}
            aria-describedby={`${id}-thread-note`}
            onChange={(event) => set({ thread: event.target.value.trim() })}
          />
        </Field>
      )}
      <Field
        id={`${id}-end`}
        label="Ends"
        help="No run starts after this time. Leave it empty for a cron without an end."
      >
        <input
          id={`${id}-end`}
          type="datetime-local"
          className={controls.field}
          value={draft.end}
          aria-describedby={`${id}-end-note`}
          onChange={(event) => set({ end: event.target.value })}
        />
      </Field>
      <Trouble text={saving.trouble} />
      {saving.refusal !== undefined && <p className={work.note}>{saving.refusal}.</p>}
      <div className={work.acts}>
        <Button
          look="filled"
          type="submit"
          title={saving.refusal}
          disabled={saving.button.disabled || nextTimes(draft.schedule, draft.timezone).error !== undefined}
        >
          {isNew ? "Create cron" : "Save"}
        </Button>
        <Button onClick={onCancel}>Cancel</Button>
      </div>
    </form>
  );
}

function Field({ id, label, help, children }: { id: string; label: string; help?: string; children: ReactNode }) {
  return (
    <div className={controls.row}>
      <label htmlFor={id} className={controls.label}>
        {label}
      </label>
      {children}
      {help && (
        <p id={`${id}-note`} className={controls.help}>
          {help}
        </p>
      )}
    </div>
  );
}
