/** One key of the rubric: its question, and a button for each score, a number or a text. */
import { useId } from "react";
import controls from "../../ui/controls.module.css";
import css from "./queues.module.css";
import { listChoices, findDigit, isText, type RubricItem } from "./rubric.ts";

export function RubricField({
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
