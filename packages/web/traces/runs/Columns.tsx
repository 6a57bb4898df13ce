/** The columns of the list, and which of them a person has chosen. */
import { Columns3 } from "lucide-react";
import { useState } from "react";
import { Link } from "wouter";
import { State } from "../../resources/State.tsx";
import type { Column } from "../../ui/Table.tsx";
import controls from "../../ui/controls.module.css";
import { usePressed } from "../../ui/on-demand.ts";
import { exactTime, momentText } from "../../ui/time.ts";
import { costText, countText, durationText, firstLine, scoreText } from "../../ui/format.ts";
import css from "./list.module.css";
import type { TraceRow } from "../types.ts";

const KEY = "weir.traces.hidden";

const loadMenu = async () => (await import("./ColumnsMenu.tsx")).default;

/** The columns that are not shown, kept over visits. */
export function useHidden(): [ReadonlySet<string>, (hidden: ReadonlySet<string>) => void] {
  const [hidden, setHidden] = useState<ReadonlySet<string>>(
    () => new Set((localStorage.getItem(KEY) ?? "").split(",").filter((id) => id !== "")),
  );
  const keep = (next: ReadonlySet<string>) => {
    localStorage.setItem(KEY, [...next].join(","));
    setHidden(next);
  };
  return [hidden, keep];
}

export function buildColumns(linkRow: (row: TraceRow) => string, hidden: ReadonlySet<string>): Column<TraceRow>[] {
  const name: Column<TraceRow> = {
    id: "name",
    name: "Name",
    width: 140,
    kept: true,
    cell: (row, isPhone) => (
      <>
        <Link href={linkRow(row)} title={row.name}>
          {row.name}
        </Link>
        {isPhone && !hidden.has("input") && <span className={css.said}> {firstLine(row.inputs_preview ?? "")}</span>}
      </>
    ),
  };
  const [status, ...others] = COLUMNS;
  const all = [status as Column<TraceRow>, name, ...others].filter(({ id }) => !hidden.has(id));
  // Without a column that takes the room that is left, the name does.
  return all.map((column) => (column === name && hidden.has("input") ? { ...column, grows: true } : column));
}

const seconds = (from: string, to: string | null) => (to === null ? null : (Date.parse(to) - Date.parse(from)) / 1000);

const COLUMNS: Column<TraceRow>[] = [
  { id: "status", name: "Status", width: 100, kept: true, cell: ({ status }) => <State state={status} /> },
  {
    id: "input",
    name: "Input",
    width: 96,
    grows: true,
    cell: ({ inputs_preview }) => firstLine(inputs_preview ?? ""),
  },
  {
    id: "output",
    name: "Output",
    width: 128,
    cell: ({ outputs_preview, error }) =>
      error ? <span className={css.error}>{firstLine(error)}</span> : firstLine(outputs_preview ?? ""),
  },
  {
    id: "start",
    name: "Start",
    width: 120,
    detail: true,
    end: true,
    sort: true,
    cell: ({ start_time }) => (
      <time dateTime={start_time} title={exactTime(start_time)}>
        {momentText(start_time)}
      </time>
    ),
  },
  {
    id: "latency",
    name: "Latency",
    width: 96,
    detail: true,
    end: true,
    sort: true,
    cell: ({ start_time, end_time }) => {
      const took = seconds(start_time, end_time);
      return took === null ? "running" : durationText(took);
    },
  },
  {
    id: "tokens",
    name: "Tokens",
    width: 80,
    end: true,
    sort: true,
    cell: (row) => row.total_tokens > 0 && countText(row.total_tokens),
  },
  {
    id: "cost",
    name: "Cost",
    width: 80,
    detail: true,
    end: true,
    sort: true,
    cell: ({ total_cost }) => total_cost !== null && Number(total_cost) > 0 && costText(total_cost),
  },
  {
    id: "first",
    name: "First token",
    width: 96,
    end: true,
    cell: ({ start_time, first_token_time }) => {
      const first = seconds(start_time, first_token_time ?? null);
      return first === null ? "" : durationText(first);
    },
  },
  { id: "feedback", name: "Feedback", width: 120, cell: ({ feedback_stats }) => feedbackText(feedback_stats) },
];

/** "correct 0.8, mood 3×": the mean of each key, or how often it was given. */
function feedbackText(stats: TraceRow["feedback_stats"]): string {
  return Object.entries(stats ?? {})
    .map(([key, { avg, n }]) =>
      avg === null || avg === undefined ? `${key} ${countText(n)}×` : `${key} ${scoreText(avg)}`,
    )
    .join(", ");
}

/** The button of the menu of columns. Status and name always stay. */
export function Columns({
  hidden,
  onHidden,
}: {
  hidden: ReadonlySet<string>;
  onHidden: (hidden: ReadonlySet<string>) => void;
}) {
  const { Opened, button } = usePressed(loadMenu);
  const trigger = (
    <button {...button} className={`${controls.button} ${controls.plain} ${css.columns}`}>
      <Columns3 size={14} aria-hidden /> <span>Columns</span>
    </button>
  );
  return Opened ? <Opened trigger={trigger} columns={COLUMNS.slice(1)} hidden={hidden} onHidden={onHidden} /> : trigger;
}
