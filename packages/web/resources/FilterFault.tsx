/** A filter with the place of its fault. */
import css from "./FilterFault.module.css";

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
