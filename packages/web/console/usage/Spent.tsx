/** Tokens and cost of the traces by day. */
import { useState } from "react";
import { costText, countText, quantityText } from "../../ui/format.ts";
import { shortCount } from "../../ui/shares.ts";
import { Button } from "../../ui/Button.tsx";
import overview from "../overview/overview.module.css";
import { Plot } from "../overview/Plot.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { dayText } from "../../ui/days.ts";

interface Bucket {
  start_time: string;
  run_count: number;
  total_tokens: number;
  total_cost: number;
}

export function Spent({ buckets }: { buckets: Bucket[] }) {
  const [table, setTable] = useState(false);
  const times = buckets.map(({ start_time }) => Date.parse(start_time));
  return (
    <>
      {table ? (
        <Table
          label="Cost by day"
          columns={COSTS}
          rows={buckets.toReversed()}
          rowKey={({ start_time }) => start_time}
        />
      ) : (
        <div className={overview.plots}>
          <Plot
            utc
            title="Cost by day"
            times={times}
            format={costText}
            lines={[{ name: "cost", ink: "--water", values: buckets.map((row) => row.total_cost), columns: true }]}
          />
          <Plot
            utc
            title="Tokens by day"
            times={times}
            format={shortCount}
            lines={[{ name: "tokens", ink: "--water", values: buckets.map((row) => row.total_tokens), columns: true }]}
          />
        </div>
      )}
      <div className={overview.switch}>
        <Button look="quiet" aria-pressed={table} onClick={() => setTable(!table)}>
          {table ? "Show plots of cost" : "Show cost as table"}
        </Button>
      </div>
    </>
  );
}

const COSTS: Column<Bucket>[] = [
  {
    id: "day",
    name: "Day (UTC)",
    width: 120,
    kept: true,
    grows: true,
    cell: ({ start_time }) => dayText(start_time),
  },
  {
    id: "traces",
    name: "Traces",
    width: 80,
    end: true,
    fact: true,
    cell: ({ run_count }, isPhone) => (isPhone ? quantityText(run_count, "trace") : countText(run_count)),
  },
  { id: "tokens", name: "Tokens", width: 96, kept: true, end: true, cell: (row) => countText(row.total_tokens) },
  { id: "cost", name: "Cost", width: 96, kept: true, end: true, cell: (row) => costText(row.total_cost) },
];
