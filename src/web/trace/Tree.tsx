/** The runs of a trace: a tree, and beside each run its bar in the time of the trace. */
import { type KeyboardEvent, type MouseEvent, useMemo, useRef, useState } from "react";
import { Button } from "../ui/Button.tsx";
import { durationText } from "./format.ts";
import css from "./trace.module.css";
import type { Span } from "./types.ts";
import { type Row, rowsOf, timeOf } from "./tree.ts";
import { TreeRow } from "./TreeRow.tsx";

/** Rows mounted at first, and more at each press. */
const WINDOW = 400;

export function Tree({
  runs,
  now,
  chosen,
  onChoose,
}: {
  runs: Span[];
  /** When they were read: what runs has a bar until then. */
  now: number;
  chosen: string;
  onChoose: (id: string) => void;
}) {
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [most, setMost] = useState(WINDOW);
  const tree = useRef<HTMLDivElement>(null);
  const all = useMemo(() => rowsOf(runs, closed), [runs, closed]);
  const rows = all.slice(0, most);
  const time = useMemo(() => timeOf(runs, now), [runs, now]);
  // The stop for the tab key.
  const stop = rows.some((row) => row.run.id === chosen) ? chosen : rows[0]?.run.id;

  const toggle = (id: string) =>
    setClosed((was) => {
      const next = new Set(was);
      if (!next.delete(id)) next.add(id);
      return next;
    });
  const go = (id: string | undefined) => {
    if (id === undefined) return;
    onChoose(id);
    tree.current?.querySelector<HTMLElement>(`[data-run="${CSS.escape(id)}"]`)?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const at = rows.findIndex((row) => row.run.id === stop);
    const row = rows[at];
    if (!row) return;
    const act = moves(rows, at, row, { go, toggle })[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  };

  // One listener for all the rows, so that a row that did not change is not drawn again.
  const onClick = ({ target }: MouseEvent) => {
    if (!(target instanceof Element)) return;
    const id = target.closest<HTMLElement>("[data-run]")?.dataset.run;
    if (id !== undefined && target.closest("[data-twist]")) toggle(id);
    else go(id);
  };

  return (
    <section className={css.side} aria-labelledby="runs">
      <h2 id="runs" className={css.head}>
        <span>{runs.length === 1 ? "1 run" : `${runs.length.toLocaleString()} runs`}</span>
        <span className={css.whole}>{durationText((time.to - time.from) / 1000)}</span>
      </h2>
      <div ref={tree} role="tree" aria-label="Runs of the trace" onClick={onClick} onKeyDown={onKeyDown}>
        {rows.map((row) => (
          <TreeRow key={row.run.id} row={row} time={time} chosen={row.run.id === chosen} stop={row.run.id === stop} />
        ))}
      </div>
      {all.length > most && (
        <Button look="quiet" onClick={() => setMost(most + WINDOW)}>
          Show {Math.min(WINDOW, all.length - most)} more of {(all.length - most).toLocaleString()}
        </Button>
      )}
    </section>
  );
}

/** What each key does on a row, as a tree's keys do everywhere. */
function moves(
  rows: Row[],
  at: number,
  row: Row,
  { go, toggle }: { go: (id: string | undefined) => void; toggle: (id: string) => void },
): Record<string, () => void> {
  return {
    ArrowDown: () => go(rows[at + 1]?.run.id),
    ArrowUp: () => go(rows[at - 1]?.run.id),
    Home: () => go(rows[0]?.run.id),
    End: () => go(rows.at(-1)?.run.id),
    Enter: () => go(row.run.id),
    " ": () => go(row.run.id),
    ArrowRight: () => {
      if (row.parents && row.open) go(rows[at + 1]?.run.id);
      else if (row.parents) toggle(row.run.id);
    },
    ArrowLeft: () => {
      if (row.parents && row.open) toggle(row.run.id);
      else go(row.parent);
    },
  };
}
