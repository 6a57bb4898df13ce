/** The runs of a trace, as a tree with figures or as bars on an axis of time. Only the rows in view are drawn. */
import { useVirtualizer } from "@tanstack/react-virtual";
import {
  type KeyboardEvent,
  type MouseEvent,
  startTransition,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { coarse } from "../../ui/device.ts";
import { Toolbar } from "./Toolbar.tsx";
import css from "./trace.module.css";
import {
  placeBar,
  failedBelow,
  listFailures,
  findMatches,
  neighbour,
  type Row,
  listRows,
  measureTime,
  readFirstToken,
  placeTicks,
  type Time,
} from "./tree.ts";
import { TreeHead, TreeRow } from "./TreeRow.tsx";
import type { Span } from "../types.ts";
import { axisText } from "../../ui/format.ts";

const ROW = coarse ? 44 : 28;
/** Milliseconds on a run until its details are loaded. */
const SETTLE = 80;
const NONE: ReadonlySet<string> = new Set();

export function Tree({
  runs,
  more,
  now,
  chosen,
  view,
  onChoose,
}: {
  runs: Span[];
  /** Further runs are being loaded. */
  more: boolean;
  /** When they were read: what runs has a bar until then. */
  now: number;
  chosen: string;
  view: "tree" | "timeline";
  onChoose: (id: string) => void;
}) {
  const [closed, setClosed] = useState(NONE);
  const [find, setFind] = useState("");
  /** The run that the keyboard is on. The details follow it. */
  const [here, setHere] = useState(chosen);
  const [told, setTold] = useState(chosen);
  const [zoom, setZoom] = useState<{ from: number; to: number }>();
  // The address changed: back, forward, or a link.
  if (told !== chosen) {
    setTold(chosen);
    setHere(chosen);
  }
  const scroller = useRef<HTMLDivElement>(null);
  const all = useMemo(() => listRows(runs, NONE), [runs]);
  const rows = useMemo(() => (closed.size === 0 ? all : listRows(runs, closed)), [all, runs, closed]);
  const order = useMemo(() => new Map(all.map(({ run }, i) => [run.id, i])), [all]);
  const failures = useMemo(() => listFailures(all), [all]);
  const below = useMemo(() => failedBelow(runs), [runs]);
  const matches = useMemo(() => findMatches(all, find), [all, find]);
  const found = useMemo(() => new Set(matches), [matches]);
  const hasFirst = useMemo(() => runs.some((run) => readFirstToken(run) !== undefined), [runs]);
  const whole = useMemo(() => measureTime(runs, now), [runs, now]);
  const timed = view === "timeline";
  const time = useMemo(() => (zoom ? { ...whole, ...zoom } : whole), [whole, zoom]);
  const at = rows.findIndex(({ run }) => run.id === here);
  const stop = rows[Math.max(at, 0)]?.run.id;
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    getItemKey: (index) => rows[index]?.run.id ?? index,
    // The rows are in the first draw, before the height of the list is known.
    initialRect: { width: 0, height: innerHeight },
    overscan: 4,
  });

  // A row that is to be focused may not be drawn yet.
  const focus = useRef<string>(undefined);
  useEffect(() => {
    if (focus.current === undefined) return;
    const row = scroller.current?.querySelector<HTMLElement>(`[data-run="${CSS.escape(focus.current)}"]`);
    if (!row) return;
    focus.current = undefined;
    row.focus({ preventScroll: true });
  });
  // A run that a link or a search leads to is brought into view.
  const shown = useRef<string>(undefined);
  useEffect(() => {
    if (shown.current === here || at < 0) return;
    shown.current = here;
    // To scroll lays out the page first, also where the row is in view.
    const { startIndex = 0, endIndex = 0 } = virtualizer.range ?? {};
    if (at === 0 ? startIndex > 0 : at <= startIndex || at >= endIndex)
      virtualizer.scrollToIndex(at, { align: "auto" });
  }, [here, at, virtualizer]);

  // A held arrow key goes through many runs. The details and the address follow when it rests.
  const later = useRef<ReturnType<typeof setTimeout>>(undefined);
  const go = useCallback(
    (id: string | undefined, keyboard = true) => {
      if (id === undefined) return;
      const run = runs.find((one) => one.id === id);
      setClosed((was) => (run?.parent_run_ids.some((parent) => was.has(parent)) ? without(was, run) : was));
      if (keyboard) focus.current = id;
      setHere(id);
      clearTimeout(later.current);
      later.current = setTimeout(() => startTransition(() => onChoose(id)), keyboard ? SETTLE : 0);
    },
    [runs, onChoose],
  );
  useEffect(() => () => clearTimeout(later.current), []);
  const toggle = (id: string) =>
    setClosed((was) => {
      const next = new Set(was);
      if (!next.delete(id)) next.add(id);
      return next;
    });
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const row = rows[at];
    if (!row) return;
    if (event.key === "E") {
      event.preventDefault();
      return go(neighbour(failures, order, here, 1));
    }
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
  const onDoubleClick = ({ target }: MouseEvent) => {
    const id = target instanceof Element ? target.closest<HTMLElement>("[data-run]")?.dataset.run : undefined;
    const run = runs.find((one) => one.id === id);
    if (!run || !timed) return;
    const { left, width } = placeBar(run, whole);
    const length = whole.to - whole.from;
    const from = whole.from + (left / 100) * length;
    setZoom({ from, to: from + Math.max(1, (width / 100) * length) });
  };

  return (
    <section className={css.side} aria-label="Runs" data-view={view}>
      <Toolbar
        count={more ? undefined : runs.length}
        seconds={(whole.to - whole.from) / 1000}
        find={find}
        onFind={setFind}
        matches={matches.length}
        place={matches.indexOf(here)}
        onMatch={(by) => go(neighbour(matches, order, here, by), false)}
        failures={failures.length}
        onFailure={() => go(neighbour(failures, order, here, 1))}
        onOpen={(open) =>
          setClosed(open ? NONE : new Set(all.flatMap(({ run, parents }) => (parents ? [run.id] : []))))
        }
        zoom={timed ? { whole, time, onZoom: setZoom } : undefined}
      />
      {timed ? <Axis time={time} from={whole.from} hasFirst={hasFirst} /> : <TreeHead />}
      <div ref={scroller} className={css.rows}>
        <div className={css.inner}>
          {timed && <TimeLines time={time} from={whole.from} />}
          <div
            role="tree"
            aria-label="Runs of the trace"
            style={{ height: virtualizer.getTotalSize() }}
            onClick={onClick}
            onDoubleClick={onDoubleClick}
            onKeyDown={onKeyDown}
          >
            {virtualizer.getVirtualItems().map(({ index, start, key }) => {
              const row = rows[index];
              if (!row) return null;
              return (
                <TreeRow
                  key={key}
                  row={row}
                  top={start}
                  time={timed ? time : undefined}
                  chosen={row.run.id === here}
                  stop={row.run.id === stop}
                  match={found.has(row.run.id)}
                  failed={row.open ? 0 : (below.get(row.run.id) ?? 0)}
                />
              );
            })}
          </div>
        </div>
      </div>
    </section>
  );
}

function without(closed: ReadonlySet<string>, run: Span): ReadonlySet<string> {
  const parents = new Set(run.parent_run_ids);
  return new Set([...closed].filter((id) => !parents.has(id)));
}

/** The work of each key on a row, as a tree's keys do everywhere. */
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

/** Percent of the width after which the label of a tick is before it. */
const LAST = 92;

const listTicks = (time: Time, from: number) =>
  placeTicks(time.from - from, time.to - from).map((tick) => ({
    tick,
    left: ((tick + from - time.from) / Math.max(1, time.to - time.from)) * 100,
  }));

interface Props {
  /** The part in view. */
  time: Time;
  /** The begin of the trace. */
  from: number;
}

/** Round times since the begin of the trace, above the bars. */
const Axis = ({ time, from, hasFirst }: Props & { hasFirst: boolean }) => (
  <div className={css.axis} aria-hidden>
    <span className={css.legend}>
      {hasFirst && (
        <>
          <b /> first token
        </>
      )}
    </span>
    <span className={css.ticks}>
      {listTicks(time, from).map(({ tick, left }) => (
        <span key={tick} style={{ left: `${left}%` }} data-last={left > LAST || undefined}>
          {axisText(tick / 1000)}
        </span>
      ))}
    </span>
  </div>
);

/** Lines at these times, behind the bars. */
const TimeLines = ({ time, from }: Props) => (
  <div className={css.lines} aria-hidden>
    <span>
      {listTicks(time, from).map(({ tick, left }) => (
        <i key={tick} style={{ left: `${left}%` }} />
      ))}
    </span>
  </div>
);
