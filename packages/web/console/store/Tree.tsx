/** The namespaces as a tree. A level is loaded when it is opened. Arrow keys move and open, as in other trees. */
import { ChevronRight } from "lucide-react";
import { type KeyboardEvent, useRef, useState } from "react";
import { Link } from "wouter";
import { Failed, Loading } from "../../resources/states.tsx";
import work from "../../resources/work.module.css";
import { formatAddress, listChildren, isBelow, same } from "./path.ts";
import { MOST_CHILDREN, useLevel } from "./queries.ts";
import css from "./store.module.css";
import { countText } from "../../ui/format.ts";

export function Tree({ current }: { current: string[] }) {
  const box = useRef<HTMLDivElement>(null);
  const move = (event: KeyboardEvent) => {
    const rows = [...(box.current?.querySelectorAll<HTMLElement>("[data-row]") ?? [])];
    const row = event.target instanceof HTMLElement ? event.target.closest<HTMLElement>("[data-row]") : null;
    if (!row) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const toggle = row.querySelector<HTMLButtonElement>("button[aria-expanded]");
    if (step !== undefined) rows[rows.indexOf(row) + step]?.querySelector("a")?.focus();
    else if (event.key === "ArrowRight" && toggle?.ariaExpanded === "false") toggle.click();
    else if (event.key === "ArrowLeft" && toggle?.ariaExpanded === "true") toggle.click();
    else return;
    event.preventDefault();
  };
  return (
    // Keys of links and buttons in it pass through here.
    // oxlint-disable-next-line jsx-a11y/no-static-element-interactions
    <div ref={box} onKeyDown={move}>
      <div className={css.row} data-row data-current={current.length === 0 || undefined}>
        <span className={css.stem} />
        <Link href={formatAddress({})} aria-current={current.length === 0 ? "page" : undefined}>
          All namespaces
        </Link>
      </div>
      <Level parent={[]} current={current} />
    </div>
  );
}

function Level({ parent, current }: { parent: string[]; current: string[] }) {
  const level = useLevel(parent);
  if (level.error && !level.data)
    return <Failed title="The namespaces did not load." error={level.error} onRetry={() => void level.refetch()} />;
  if (!level.data) return <Loading rows={3} />;
  const children = listChildren(level.data, parent);
  return (
    <ul className={css.level}>
      {children.map((label) => (
        <Node key={label} namespace={[...parent, label]} current={current} />
      ))}
      {children.length === 0 && parent.length > 0 && <li className={css.leaf}>No namespace below.</li>}
      {level.data.length >= MOST_CHILDREN && (
        <li className={work.note}>Only the first {countText(MOST_CHILDREN)} are listed.</li>
      )}
    </ul>
  );
}

function Node({ namespace, current }: { namespace: string[]; current: string[] }) {
  const label = namespace.at(-1) ?? "";
  const [open, setOpen] = useState<boolean>();
  // The way to the namespace in view is open until a person closes it.
  const shown = open ?? (isBelow(current, namespace) && current.length > namespace.length);
  const isCurrent = same(current, namespace);
  return (
    <li>
      <div className={css.row} data-row data-current={isCurrent || undefined}>
        <button
          type="button"
          className={css.stem}
          aria-expanded={shown}
          aria-label={`${shown ? "Close" : "Open"} ${label}`}
          onClick={() => setOpen(!shown)}
        >
          <ChevronRight size={14} aria-hidden />
        </button>
        <Link href={formatAddress({ namespace })} title={label} aria-current={isCurrent ? "page" : undefined}>
          {label}
        </Link>
      </div>
      {shown && <Level parent={namespace} current={current} />}
    </li>
  );
}
