/** Stored data of the workspace, and the cost of its model calls. Days are UTC days, as they are stored and charged. */
import { Link } from "wouter";
import { bytesText, costText, countText, quantityText } from "../../ui/format.ts";
import { Page } from "../../resources/Page.tsx";
import { useRange, RangePicker } from "../../resources/RangePicker.tsx";
import css from "../../resources/parts.module.css";
import { Section } from "../../resources/Fields.tsx";
import { monthText, dayText } from "../../ui/days.ts";
import { Loaded, Empty } from "../../resources/states.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { byProject, type ProjectSum, byDay } from "./metrics.ts";
import { type Group, useMonth, useSpent, useUsage, type Usage as Held } from "./queries.ts";
import { useState } from "react";
import { shortCount } from "../../ui/shares.ts";
import { Button } from "../../ui/Button.tsx";
import overview from "../overview/overview.module.css";
import { Plot } from "../overview/Plot.tsx";
import { formatCurl } from "../../api/server.ts";

export default function Usage() {
  const [range] = useRange();
  const usage = useUsage(range);
  const spent = useSpent(range);
  return (
    <Page
      title="Usage and cost"
      purpose="What this workspace holds, and what its model calls cost. Days are whole UTC days."
      actions={<RangePicker />}
    >
      <Loaded query={usage} what="usage" rows={4}>
        {(held) => <Stored held={held} />}
      </Loaded>
      <Loaded query={spent} what="costs" rows={6}>
        {(data) => (
          <>
            <Section title="Cost">
              {!data.complete && (
                <p className={css.note}>
                  This time range has too many runs to count at once. The figures cover its newest days.
                </p>
              )}
              {data.total.total_tokens === 0 && data.models.length === 0 ? (
                <p className={css.note}>
                  No model was called in this time range. Costs come from the caller, or from the price of the model.
                </p>
              ) : (
                <Spent buckets={data.buckets} />
              )}
              <ThisMonth />
            </Section>
            {data.models.length > 0 && (
              <Section title="By model">
                <Table
                  label="Cost by model"
                  columns={MODELS}
                  rows={data.models.toSorted((a, b) => b.total_cost - a.total_cost || b.run_count - a.run_count)}
                  rowKey={({ key }) => key}
                />
              </Section>
            )}
          </>
        )}
      </Loaded>
      {usage.data && usage.data.traces.days.length > 0 && (
        <Section title="By project">
          <Table
            label="Usage by project"
            columns={PROJECTS}
            rows={byProject(usage.data.traces.days)}
            rowKey={({ id }) => id}
          />
        </Section>
      )}
    </Page>
  );
}

/** It has one line, so that nothing below moves when it arrives. */
function ThisMonth() {
  const { data } = useMonth();
  if (!data) return <p className={css.note}>…</p>;
  const { month, cost, expected, complete } = data;
  return (
    <p className={css.note}>
      {monthText(month)}: {complete ? "" : "at least "}
      {costText(cost)} so far
      {complete && expected !== undefined && `, about ${costText(expected)} by its end at the pace of the last days`}.
    </p>
  );
}

const MODELS: Column<Group>[] = [
  { id: "model", name: "Model", width: 140, kept: true, grows: true, cell: ({ key }) => key || "not named" },
  {
    id: "calls",
    name: "Calls",
    width: 80,
    end: true,
    detail: true,
    cell: ({ run_count }, isPhone) => (isPhone ? quantityText(run_count, "call") : countText(run_count)),
  },
  {
    id: "in",
    name: "Tokens in",
    width: 96,
    end: true,
    detail: true,
    cell: ({ prompt_tokens }, isPhone) => countText(prompt_tokens) + (isPhone ? " in" : ""),
  },
  {
    id: "out",
    name: "Tokens out",
    width: 96,
    end: true,
    detail: true,
    cell: ({ completion_tokens }, isPhone) => countText(completion_tokens) + (isPhone ? " out" : ""),
  },
  { id: "cost", name: "Cost", width: 96, kept: true, end: true, cell: (row) => costText(row.total_cost) },
];

const PROJECTS: Column<ProjectSum>[] = [
  {
    id: "project",
    name: "Project",
    width: 140,
    kept: true,
    grows: true,
    cell: ({ id, name }) => (name === null ? "deleted project" : <Link href={`/traces?project=${id}`}>{name}</Link>),
  },
  { id: "runs", name: "Runs", width: 96, kept: true, end: true, cell: ({ runs }) => countText(runs) },
  { id: "bytes", name: "Size", width: 96, kept: true, end: true, cell: ({ bytes }) => bytesText(bytes) },
];

interface Bucket {
  start_time: string;
  run_count: number;
  total_tokens: number;
  total_cost: number;
}

/** Tokens and cost of the traces by day. */
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
    detail: true,
    cell: ({ run_count }, isPhone) => (isPhone ? quantityText(run_count, "trace") : countText(run_count)),
  },
  { id: "tokens", name: "Tokens", width: 96, kept: true, end: true, cell: (row) => countText(row.total_tokens) },
  { id: "cost", name: "Cost", width: 96, kept: true, end: true, cell: (row) => costText(row.total_cost) },
];

const wholes = (value: number) => (Number.isInteger(value) ? countText(value) : "");

/** Stored data of the workspace: now, and by day. */
export function Stored({ held }: { held: Held }) {
  const [table, setTable] = useState(false);
  const { traces, threads, assistants, store_items, start_date, end_date } = held;
  const days = byDay(start_date, end_date, traces.days);
  const fields: [string, string][] = [
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
        {fields.map(([name, value]) => (
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
