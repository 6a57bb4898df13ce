/** A filter of runs. The server checks it when the field is left, and the form says where its fault is. */
import { useId, useState } from "react";
import { ApiError, call } from "../api/http.ts";
import controls from "../ui/controls.module.css";
import css from "./FilterInput.module.css";

export function FilterInput({
  label,
  help,
  value,
  onChange,
}: {
  label: string;
  help: string;
  value: string;
  onChange: (filter: string) => void;
}) {
  const id = useId();
  const [fault, setFault] = useState<{ filter: string; message: string }>();
  const check = async () => {
    const filter = value.trim();
    if (filter === "") return setFault(undefined);
    try {
      await call("POST", "/api/v1/runs/query/validate", { filter });
      setFault(undefined);
    } catch (error) {
      // Without a response, a fault is unknown.
      if (error instanceof ApiError && error.status >= 400 && error.status < 500)
        setFault({ filter, message: error.message });
    }
  };
  return (
    <div className={controls.row}>
      <label htmlFor={id} className={controls.label}>
        {label}
      </label>
      <input
        id={id}
        className={`${controls.field} ${controls.json}`}
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        maxLength={10_000}
        value={value}
        aria-invalid={fault !== undefined}
        aria-describedby={`${id}-note`}
        onChange={(event) => {
          onChange(event.target.value);
          setFault(undefined);
        }}
        onBlur={() => void check()}
      />
      {fault ? (
        <Fault id={`${id}-note`} {...fault} />
      ) : (
        <p id={`${id}-note`} className={controls.help}>
          {help}
        </p>
      )}
    </div>
  );
}

/** A filter with the place of its fault. */
export function Fault({ id, filter, message }: { id?: string; filter: string; message: string }) {
  const at = Number(/position (\d+)/.exec(message)?.[1] ?? filter.length);
  return (
    <p id={id} className={css.fault} role="alert">
      <code>
        {filter.slice(0, at)}
        <mark>{filter.slice(at, at + 1) || " "}</mark>
        {filter.slice(at + 1)}
      </code>{" "}
      {message}
    </p>
  );
}
