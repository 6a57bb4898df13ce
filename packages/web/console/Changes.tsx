import diff from "microdiff";
import { useMemo } from "react";
import css from "./changes.module.css";
import { countText } from "../ui/format.ts";

const SHOWN = 50;
const CLIP = 300;

const WORDS = { CREATE: "added", REMOVE: "removed", CHANGE: "changed" };

/** What changed from one value to another: a checkpoint's state to the one before, or a version to another. */
export function Changes({
  title = "Changes since the previous checkpoint",
  same = "The state is the same.",
  before,
  now,
}: {
  title?: string;
  /** Said when nothing changed. */
  same?: string;
  before: object | null | undefined;
  now: object;
}) {
  const changes = useMemo(() => (before ? diff(before, now) : []), [before, now]);
  if (!before) return null;
  return (
    <section aria-label={title}>
      <h2 className={css.head}>{title}</h2>
      {changes.length === 0 && <p className={css.none}>{same}</p>}
      <ul className={css.changes}>
        {changes.slice(0, SHOWN).map((change) => (
          <li key={change.path.join(".")} data-type={change.type}>
            <code>{change.path.join(".")}</code> <span className={css.kind}>{WORDS[change.type]}</span>
            {change.type !== "CREATE" && <del>{clipped(change.oldValue)}</del>}
            {change.type !== "REMOVE" && <ins>{clipped(change.value)}</ins>}
          </li>
        ))}
      </ul>
      {changes.length > SHOWN && <p className={css.none}>And {countText(changes.length - SHOWN)} more.</p>}
    </section>
  );
}

function clipped(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value, undefined, 2) ?? "");
  return text.length > CLIP ? `${text.slice(0, CLIP)}…` : text;
}
