import { useId, useState } from "react";
import { call } from "../../api/http.ts";
import { queryClient } from "../../api/queries.ts";
import { useAction } from "../../api/me.ts";
import { Button } from "../../ui/Button.tsx";
import controls from "../../ui/controls.module.css";
import css from "./threads.module.css";

/** Writes values over a checkpoint, as a node would: the result is a new checkpoint, on a branch of its own. */
export function EditState({
  thread,
  checkpoint,
  values,
  onDone,
}: {
  thread: string;
  checkpoint: string;
  values: object;
  /** With the id of the new checkpoint, if one was made. */
  onDone: (made: string | undefined) => void;
}) {
  const id = useId();
  const [text, setText] = useState(() => JSON.stringify(values, null, 2));
  const { button, trouble, run } = useAction("threads.write");
  const save = async () => {
    const given = JSON.parse(text) as unknown;
    const body = { values: given, checkpoint: { checkpoint_id: checkpoint, checkpoint_ns: "" } };
    const made = await call<{ checkpoint: { checkpoint_id: string } }>("POST", `/threads/${thread}/state`, body);
    await queryClient.invalidateQueries({ queryKey: ["checkpoints", thread] });
    onDone(made.checkpoint.checkpoint_id);
  };
  return (
    <form
      className={css.edit}
      onSubmit={(event) => {
        event.preventDefault();
        void run(save);
      }}
    >
      <label htmlFor={id} className={controls.label}>
        Values to write
      </label>
      <textarea
        id={id}
        className={`${controls.field} ${controls.json}`}
        rows={14}
        spellCheck={false}
        value={text}
        aria-invalid={trouble !== ""}
        aria-describedby={`${id}-note`}
        onChange={(event) => setText(event.target.value)}
      />
      <p
        id={`${id}-note`}
        className={trouble === "" ? controls.help : controls.error}
        role={trouble === "" ? undefined : "alert"}
      >
        {trouble === ""
          ? "A new checkpoint is written after this one, which stays. Reducers apply: a message with a known id is replaced, others are added."
          : trouble}
      </p>
      <div className={css.acts}>
        <Button look="filled" type="submit" {...button}>
          Write checkpoint
        </Button>
        <Button onClick={() => onDone(undefined)}>Cancel</Button>
      </div>
    </form>
  );
}
