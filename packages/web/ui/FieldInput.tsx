import { type Field, toText } from "./fields.ts";
import css from "./controls.module.css";

/** One labelled input that keeps the type of its value. `text` is what is typed, `placeholder` what holds without it. */
export function FieldInput({
  id,
  field,
  text,
  placeholder,
  error,
  changed,
  onText,
}: {
  id: string;
  field: Field;
  text: string;
  placeholder?: unknown;
  error?: string;
  changed?: boolean;
  onText: (text: string) => void;
}) {
  const hint = placeholder === undefined ? "" : toText(placeholder, field.kind);
  const shared = {
    id,
    className: `${css.field} ${field.kind === "json" ? css.json : ""}`,
    value: text,
    "aria-invalid": error !== undefined,
    "aria-describedby": error || field.help ? `${id}-note` : undefined,
  };
  return (
    <div className={css.row}>
      <label htmlFor={id} className={css.label}>
        {field.label}
        {changed && <span className={css.changed}>changed</span>}
      </label>
      {field.kind === "choice" || field.kind === "boolean" ? (
        <select {...shared} onChange={(event) => onText(event.target.value)}>
          {(field.kind === "choice" || placeholder !== undefined || text === "") && (
            <option value="">{hint === "" ? "Not set" : `Default: ${hint}`}</option>
          )}
          {(field.choices ?? ["true", "false"]).map((choice) => (
            <option key={choice} value={choice}>
              {field.kind === "boolean" ? (choice === "true" ? "yes" : "no") : choice}
            </option>
          ))}
        </select>
      ) : field.kind === "long" || field.kind === "json" ? (
        <textarea
          {...shared}
          rows={Math.min(8, text.split("\n").length + 1)}
          placeholder={hint}
          spellCheck={field.kind === "long"}
          onChange={(event) => onText(event.target.value)}
        />
      ) : (
        <input
          {...shared}
          inputMode={field.kind === "number" ? "decimal" : undefined}
          autoComplete="off"
          placeholder={hint}
          onChange={(event) => onText(event.target.value)}
        />
      )}
      {(error ?? field.help) && (
        <p id={`${id}-note`} className={error ? css.error : css.help}>
          {error ?? field.help}
        </p>
      )}
    </div>
  );
}
