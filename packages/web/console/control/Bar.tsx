import css from "./control.module.css";

/** Where a budget warns. */
const WARNS = 0.8;

/** How much of a limit is in use, with a mark at 80 %. */
export function Bar({ label, value, limit, text }: { label: string; value: number; limit: number; text: string }) {
  const share = limit > 0 ? Math.min(1, value / limit) : 1;
  return (
    <span className={css.use}>
      <span
        className={css.bar}
        role="meter"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={limit}
        aria-valuenow={Math.min(value, limit)}
        aria-valuetext={text}
        data-look={share >= 1 ? "full" : share >= WARNS ? "near" : undefined}
      >
        <i style={{ width: `${share * 100}%` }} />
      </span>
      <span>{text}</span>
    </span>
  );
}
