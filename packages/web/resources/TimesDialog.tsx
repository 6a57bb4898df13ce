/** Two times that a person enters, as the time range. */
import { type FormEvent, useState } from "react";
import { Button } from "../ui/Button.tsx";
import controls from "../ui/controls.module.css";
import { Modal } from "../ui/Modal.tsx";
import { timeZone } from "../ui/intl.ts";
import { localTime } from "../ui/time.ts";
import css from "./page.module.css";

export default function TimesDialog({
  from,
  to,
  onChoose,
  onClose,
}: {
  from: number;
  to: number;
  onChoose: (from: number, to: number) => void;
  onClose: () => void;
}) {
  const [first, setFirst] = useState(() => localTime(from));
  const [last, setLast] = useState(() => localTime(to));
  const [begin, end] = [new Date(first).getTime(), new Date(last).getTime()];
  const valid = end > begin;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!valid) return;
    onChoose(begin, end);
    onClose();
  };
  return (
    <Modal title="Time range" text={`Times of ${timeZone()}.`} onClose={onClose}>
      <form className={css.times} onSubmit={submit}>
        <label>
          From
          <input
            type="datetime-local"
            className={controls.field}
            value={first}
            onChange={(event) => setFirst(event.target.value)}
          />
        </label>
        <label>
          To
          <input
            type="datetime-local"
            className={controls.field}
            value={last}
            aria-invalid={!valid}
            aria-describedby={valid ? undefined : "range-fault"}
            onChange={(event) => setLast(event.target.value)}
          />
        </label>
        {!valid && (
          <p id="range-fault" role="alert">
            The end must be after the begin.
          </p>
        )}
        <Button type="submit" look="filled" disabled={!valid}>
          Show this time
        </Button>
      </form>
    </Modal>
  );
}
