import { type FormEvent, useState } from "react";
import { Button } from "../ui/Button.tsx";
import controls from "../ui/controls.module.css";
import { Modal } from "../ui/Modal.tsx";
import { localTime, timeZone } from "../ui/time.ts";
import css from "./page.module.css";
import { PRESETS, useRange } from "./range.ts";

const CUSTOM = "custom";

/** The time range of Observe: the named ones, one that was drawn in a plot, or two times that a person enters. */
export function RangePicker() {
  const [range, choose] = useRange();
  const [entering, setEntering] = useState(false);
  const named = PRESETS.some(({ key }) => key === range.key);
  return (
    <>
      <select
        className={`${controls.field} ${css.range}`}
        aria-label="Time range"
        value={range.key}
        onChange={({ target: { value } }) => (value === CUSTOM ? setEntering(true) : choose(value))}
      >
        {!named && <option value={range.key}>{range.name}</option>}
        {PRESETS.map(({ key, name }) => (
          <option key={key} value={key}>
            {name}
          </option>
        ))}
        <option value={CUSTOM}>Choose times…</option>
      </select>
      {entering && (
        <Times
          from={range.from}
          to={range.to ?? Date.now()}
          onChoose={(from, to) => choose({ from, to })}
          onClose={() => setEntering(false)}
        />
      )}
    </>
  );
}

function Times({
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
