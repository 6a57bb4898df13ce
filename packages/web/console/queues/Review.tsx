/** The review of the next run: what it was given and gave, and the rubric. */
import { useState, useEffect, useRef, useId } from "react";
import { Link } from "wouter";
import { useMay, useMe, useAction } from "../../api/me.ts";
import { Empty, Loaded } from "../../resources/states.tsx";
import { AddTo } from "../../traces/collect/AddTo.tsx";
import { Value } from "../../traces/trace/Value.tsx";
import { Button } from "../../ui/Button.tsx";
import controls from "../../ui/controls.module.css";
import { Payload } from "../../ui/Payload.tsx";
import work from "../../resources/work.module.css";
import { complete, type Queue, type QueuedRun, skip, useNext } from "./queries.ts";
import css from "./queues.module.css";
import { choiceAt, listChoices, isText, findDigit, type RubricItem } from "./rubric.ts";
import { Trouble } from "../../resources/Trouble.tsx";

export function Review({ queue }: { queue: Queue }) {
  const may = useMay();
  const next = useNext(queue, may("traces.annotate"));
  return (
    <Loaded query={next} what="next run">
      {(run) =>
        run ? (
          <Reviewed key={run.queue_run_id} queue={queue} run={run} />
        ) : (
          <Empty
            title="No run waits for you."
            text="You have reviewed each run of this queue, or others are at work on the rest. Add runs from their traces."
          >
            <Button disabled={next.isFetching} onClick={() => void next.refetch()}>
              Look again
            </Button>
          </Empty>
        )
      }
    </Loaded>
  );
}

function Reviewed({ queue, run }: { queue: Queue; run: QueuedRun }) {
  const may = useMay();
  const { data: me } = useMe();
  const action = useAction("traces.annotate");
  const items = queue.rubric_items;
  const [given, setGiven] = useState<ReadonlyMap<string, string>>(new Map());
  const [comment, setComment] = useState("");
  const [active, setActive] = useState(0);
  const annotates = may("traces.annotate") && me !== undefined && !action.busy;
  const set = (at: number, text: string) => {
    const key = items[at]?.feedback_key;
    if (key !== undefined) setGiven(new Map(given).set(key, text));
  };
  const isMissing = items.some((item) => item.is_required !== false && !isText(item) && !given.get(item.feedback_key));
  const done = () =>
    void action.run(async () => {
      const said = items.flatMap((item) => {
        const text = given.get(item.feedback_key)?.trim() ?? "";
        if (text === "") return [];
        const score = isText(item) ? null : Number(text);
        return [{ key: item.feedback_key, score, value: isText(item) ? text : null, comment: comment.trim() || null }];
      });
      await complete(run, me?.id ?? "", said);
    });
  const pass = () => void action.run(() => skip(run));
  useReviewKeys({
    digit: (digit) => {
      const item = items[active];
      const choices = item && listChoices(item);
      const choice = choices && choiceAt(choices, digit);
      if (!choice || !annotates) return;
      set(active, String(choice.score));
      setActive(Math.min(active + 1, items.length - 1));
    },
    move: (by) => setActive(Math.min(items.length - 1, Math.max(0, active + by))),
    next: () => annotates && !isMissing && done(),
    skip: () => annotates && pass(),
  });
  return (
    <div className={css.review}>
      <section className={css.run} aria-label="Run">
        <div className={work.head}>
          <h2>{run.name}</h2>
          <Link href={`/traces/${run.trace_id}?run=${run.id}`}>Trace</Link>
          <AddTo
            look="quiet"
            runs={[{ id: run.id, name: run.name, project: run.session_id, start_time: run.start_time }]}
            content={run}
          />
        </div>
        {run.error && <Payload label="Error" text={run.error} />}
        <Value label="Input" value={run.inputs} />
        {run.outputs !== null && <Value label="Output" value={run.outputs} />}
      </section>
      <section className={css.form} aria-label="Rubric">
        {queue.rubric_instructions && <p className={css.instructions}>{queue.rubric_instructions}</p>}
        {items.map((item, at) => (
          <RubricField
            key={item.feedback_key}
            item={item}
            active={at === active}
            disabled={!annotates}
            text={given.get(item.feedback_key) ?? ""}
            onText={(text) => {
              setActive(at);
              set(at, text);
            }}
          />
        ))}
        {items.length === 0 && <p className={work.none}>The queue has no rubric. Add keys in its settings.</p>}
        <label className={controls.row}>
          <span className={controls.label}>Comment</span>
          <textarea
            className={controls.field}
            rows={3}
            disabled={!may("traces.annotate")}
            value={comment}
            onChange={(event) => setComment(event.target.value)}
          />
        </label>
        <Trouble text={action.trouble} />
        <div className={work.acts}>
          <Button look="filled" disabled={!annotates || isMissing} title="Enter" onClick={done}>
            Complete and next
          </Button>
          <Button disabled={!annotates} title="S" onClick={pass}>
            Skip
          </Button>
        </div>
        <p className={work.note}>
          Digits score the marked key, ↑ and ↓ move the mark, Enter completes, S skips. A skipped run comes again at the
          end.
        </p>
      </section>
    </div>
  );
}

interface Acts {
  digit: (digit: number) => void;
  move: (by: 1 | -1) => void;
  next: () => void;
  skip: () => void;
}

/** The keyboard of a review. Keys that are typed into a field, or pressed on a button or a link, keep their own meaning. */
function useReviewKeys(acts: Acts): void {
  const now = useRef(acts);
  useEffect(() => {
    now.current = acts;
  });
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const { target, key } = event;
      if (event.ctrlKey || event.metaKey || event.altKey || !(target instanceof HTMLElement)) return;
      if (target.closest("input, textarea, select, [role=dialog], [role=menu]")) return;
      const { digit, move, next, skip } = now.current;
      if (/^\d$/.test(key)) digit(Number(key));
      else if (key === "ArrowDown") move(1);
      else if (key === "ArrowUp") move(-1);
      else if (key === "Enter" && !target.closest("button, a")) next();
      else if (key === "s") skip();
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}

/** One key of the rubric: its question, and a button for each score, a number or a text. */
function RubricField({
  item,
  active,
  disabled,
  text,
  onText,
}: {
  item: RubricItem;
  /** The digits of the keyboard are for this key. */
  active: boolean;
  disabled: boolean;
  text: string;
  onText: (text: string) => void;
}) {
  const id = useId();
  const choices = isText(item) ? undefined : listChoices(item);
  const name = (
    <>
      {item.feedback_key}
      {item.description && <small>{item.description}</small>}
    </>
  );
  if (!choices)
    return (
      <div className={css.key} data-active={active || undefined}>
        <label htmlFor={id} className={css.name}>
          {name}
        </label>
        <input
          id={id}
          className={controls.field}
          inputMode={isText(item) ? "text" : "decimal"}
          disabled={disabled}
          value={text}
          onChange={(event) => onText(event.target.value)}
        />
      </div>
    );
  return (
    <div className={css.key} data-active={active || undefined} role="group" aria-labelledby={id}>
      <span id={id} className={css.name}>
        {name}
      </span>
      <span className={css.choices}>
        {choices.map((choice) => {
          const digit = findDigit(choices, choice);
          return (
            <button
              key={choice.score}
              type="button"
              className={css.choice}
              aria-pressed={text === String(choice.score)}
              disabled={disabled}
              onClick={() => onText(String(choice.score))}
            >
              {digit !== undefined && choice.label !== String(digit) && <kbd>{digit}</kbd>}
              {choice.label}
            </button>
          );
        })}
      </span>
    </div>
  );
}
