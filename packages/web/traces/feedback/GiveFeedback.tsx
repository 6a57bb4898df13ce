/** The dialog for a score and a comment on a run. */
import { useId, useState } from "react";
import { useMe } from "../../api/me.ts";
import controls from "../../ui/controls.module.css";
import { FieldInput } from "../../ui/FieldInput.tsx";
import { ModalForm } from "../../resources/ModalForm.tsx";
import { type Feedback, give, type Scored, THUMBS, useKeys } from "./queries.ts";

const formatScore = (score: Feedback["score"] | undefined) =>
  score === null || score === undefined ? "" : String(Number(score));

export function GiveFeedback({
  run,
  before,
  onClose,
}: {
  run: Scored;
  /** The caller's thumb on the run. */
  before: Feedback | null;
  onClose: () => void;
}) {
  const id = useId();
  const { data: me } = useMe();
  const keys = useKeys();
  const [key, setKey] = useState(THUMBS);
  const [score, setScore] = useState(formatScore(before?.score));
  const [comment, setComment] = useState(before?.comment ?? "");
  const fault = score.trim() !== "" && !Number.isFinite(Number(score)) ? "Not a number." : undefined;
  const nothing = score.trim() === "" && comment.trim() === "";
  return (
    <ModalForm
      title="Score this run"
      text="The score is kept as feedback on the run’s trace."
      submit="Save score"
      needs="traces.annotate"
      disabled={fault !== undefined || nothing || key.trim() === ""}
      onSubmit={async () => {
        const said = {
          key: key.trim(),
          score: score.trim() === "" ? null : Number(score),
          comment: comment.trim() === "" ? null : comment,
        };
        await give(run, me?.id, said, said.key === THUMBS ? before : null);
      }}
      onClose={onClose}
    >
      <FieldInput
        id={`${id}-score`}
        field={{ name: "score", label: "Score", kind: "number", help: "1 is good and 0 is bad, or any number." }}
        text={score}
        {...(fault !== undefined && { error: fault })}
        onText={setScore}
      />
      <FieldInput
        id={`${id}-comment`}
        field={{ name: "comment", label: "Comment", kind: "long" }}
        text={comment}
        onText={setComment}
      />
      <div className={controls.row}>
        <label htmlFor={`${id}-key`} className={controls.label}>
          Key
        </label>
        <input
          id={`${id}-key`}
          className={controls.field}
          autoComplete="off"
          list={`${id}-keys`}
          maxLength={180}
          value={key}
          onChange={(event) => setKey(event.target.value)}
        />
        <datalist id={`${id}-keys`}>
          {keys.data?.map(({ feedback_key }) => (
            <option key={feedback_key} value={feedback_key} />
          ))}
        </datalist>
      </div>
    </ModalForm>
  );
}
