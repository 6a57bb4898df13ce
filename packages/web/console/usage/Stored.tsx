/** What the workspace holds: now, and by day. */
import { useState } from "react";
import { formatCurl } from "../../api/curl.ts";
import { Button } from "../../ui/Button.tsx";
import overview from "../overview/overview.module.css";
import { Plot } from "../overview/Plot.tsx";
import { Empty } from "../../resources/states.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { bytesText, countText } from "../../ui/format.ts";
import { dayText } from "../../ui/days.ts";
import { byDay } from "./metrics.ts";
import type { Usage as Held } from "./queries.ts";

const wholes = (value: number) => (Number.isInteger(value) ? countText(value) : "");

export function Stored({ held }: { held: Held }) {
  const [table, setTable] = useState(false);
  const { traces, threads, assistants, store_items, start_date, end_date } = held;
  const days = byDay(start_date, end_date, traces.days);
  const facts: [string, string][] = [
    ["Trace runs", countText(traces.runs)],
    ["Trace storage", bytesText(traces.bytes)],
    ["Threads", countText(Object.values(threads).reduce((sum, n) => sum + n, 0))],
    ["Assistants", countText(assistants)],
    ["Store items", countText(store_items)],
  ];
  const times = days.map(({ day }) => Date.parse(day));
  return (
    <>
      <dl className={overview.totals}>
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {traces.runs === 0 ? (
        <Empty
          title="No traces were stored in this time range."
          text="Choose a longer time range, or talk to an agent. To read usage with the API:"
          command={formatCurl(`/api/v1/usage -G \\\n  -d start_date=${start_date} -d end_date=${end_date}`)}
        />
      ) : (
        <>
          {table ? (
            <Table label="Stored by day" columns={DAYS} rows={days.toReversed()} rowKey={({ day }) => day} />
          ) : (
            <div className={overview.plots}>
              <Plot
                utc
                title="Trace runs by day"
                times={times}
                format={wholes}
                lines={[{ name: "runs", ink: "--water", values: days.map(({ runs }) => runs), columns: true }]}
              />
              <Plot
                utc
                title="Trace storage by day"
                times={times}
                format={bytesText}
                lines={[{ name: "bytes", ink: "--water", values: days.map(({ bytes }) => bytes), columns: true }]}
              />
            </div>
          )}
          <div className={overview.switch}>
            <Button look="quiet" aria-pressed={table} onClick={() => setTable(!table)}>
              {table ? "Show plots" : "Show as table"}
            </Button>
          </div>
        </>
      )}
    </>
  );
}

const DAYS: Column<{ day: string; runs: number; bytes: number }>[] = [
  {
    id: "day",
    name: "Day (UTC)",
    width: 120,
    kept: true,
    grows: true,
    cell: ({ day }) => dayText(day),
  },
  { id: "runs", name: "Runs", width: 96, kept: true, end: true, cell: ({ runs }) => countText(runs) },
  { id: "bytes", name: "Size", width: 96, kept: true, end: true, cell: ({ bytes }) => bytesText(bytes) },
];
