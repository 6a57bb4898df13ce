/** What the workspace holds, and what its model calls cost. Days are UTC days, as they are stored and charged. */
import { useState } from "react";
import { Link, useSearchParams } from "wouter";
import { SERVER } from "../../api/server.ts";
import { costText } from "../../trace/format.ts";
import { Button } from "../../ui/Button.tsx";
import controls from "../../ui/controls.module.css";
import overview from "../overview/overview.module.css";
import { Plot } from "../overview/Plot.tsx";
import { Page } from "../Page.tsx";
import pageCss from "../page.module.css";
import css from "../parts.module.css";
import { Section } from "../Section.tsx";
import { Empty, Loaded } from "../states.tsx";
import { type Column, Table } from "../Table.tsx";
import { byDay, byProject, bytesText, type ProjectSum } from "./figures.ts";
import { type Group, type Usage as Held, useSpent, useUsage } from "./queries.ts";

const PERIODS = [7, 30, 90];
const DEFAULT = 30;

export default function Usage() {
  const [params, setParams] = useSearchParams();
  const asked = Number(params.get("days"));
  const days = PERIODS.includes(asked) ? asked : DEFAULT;
  const usage = useUsage(days);
  const spent = useSpent(days);
  return (
    <Page
      title="Usage and cost"
      purpose="What this workspace holds, and what its model calls cost. Days are UTC days."
      actions={
        <select
          className={`${controls.field} ${pageCss.range}`}
          aria-label="Period"
          value={days}
          onChange={(event) => setParams(Number(event.target.value) === DEFAULT ? {} : { days: event.target.value })}
        >
          {PERIODS.map((period) => (
            <option key={period} value={period}>
              Last {period} days
            </option>
          ))}
        </select>
      }
    >
      <Loaded query={usage} what="usage" rows={4}>
        {(held) => <Stored held={held} />}
      </Loaded>
      <Loaded query={spent} what="costs" rows={6}>
        {(data) => (
          <>
            <Section title="Cost">
              {!data.complete && (
                <p className={css.note}>There is too much to count in one answer: the newest days are counted.</p>
              )}
              {data.total.total_tokens === 0 && data.models.length === 0 ? (
                <p className={css.note}>
                  No model was called in this time. A cost is what the caller reported, or a price by model.
                </p>
              ) : (
                <Spent buckets={data.buckets} />
              )}
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

const count = new Intl.NumberFormat();
const short = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });
const wholes = (value: number) => (Number.isInteger(value) ? count.format(value) : "");

function Stored({ held }: { held: Held }) {
  const [table, setTable] = useState(false);
  const { traces, threads, assistants, store_items, start_date, end_date } = held;
  const days = byDay(start_date, end_date, traces.days);
  const facts: [string, string][] = [
    ["Trace runs", count.format(traces.runs)],
    ["Size of traces", bytesText(traces.bytes)],
    ["Threads now", count.format(Object.values(threads).reduce((sum, n) => sum + n, 0))],
    ["Assistants now", count.format(assistants)],
    ["Store items now", count.format(store_items)],
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
          title="No trace was stored in this time."
          text="Choose a longer period, or talk to an agent. The same figures by the API:"
          command={`curl "${SERVER}/api/v1/usage?start_date=${start_date}&end_date=${end_date}" \\\n  -H "X-API-Key: $WEIR_API_KEY"`}
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
                title="Size of traces by day"
                times={times}
                format={bytesText}
                lines={[{ name: "bytes", ink: "--water", values: days.map(({ bytes }) => bytes), columns: true }]}
              />
            </div>
          )}
          <div>
            <Button look="quiet" aria-pressed={table} onClick={() => setTable(!table)}>
              {table ? "Show plots" : "Show as table"}
            </Button>
          </div>
        </>
      )}
    </>
  );
}

interface Bucket {
  start_time: string;
  run_count: number;
  total_tokens: number;
  total_cost: number;
}

function Spent({ buckets }: { buckets: Bucket[] }) {
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
            format={(value) => costText(String(value))}
            lines={[{ name: "cost", ink: "--water", values: buckets.map((row) => row.total_cost), columns: true }]}
          />
          <Plot
            utc
            title="Tokens by day"
            times={times}
            format={(value) => short.format(value)}
            lines={[{ name: "tokens", ink: "--water", values: buckets.map((row) => row.total_tokens), columns: true }]}
          />
        </div>
      )}
      <div>
        <Button look="quiet" aria-pressed={table} onClick={() => setTable(!table)}>
          {table ? "Show plots of cost" : "Show cost as table"}
        </Button>
      </div>
    </>
  );
}

const dayText = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" });

const DAYS: Column<{ day: string; runs: number; bytes: number }>[] = [
  {
    id: "day",
    name: "Day (UTC)",
    width: 120,
    kept: true,
    grows: true,
    cell: ({ day }) => dayText.format(new Date(day)),
  },
  { id: "runs", name: "Runs", width: 96, kept: true, end: true, cell: ({ runs }) => count.format(runs) },
  { id: "bytes", name: "Size", width: 96, kept: true, end: true, cell: ({ bytes }) => bytesText(bytes) },
];

const COSTS: Column<Bucket>[] = [
  {
    id: "day",
    name: "Day (UTC)",
    width: 120,
    kept: true,
    grows: true,
    cell: ({ start_time }) => dayText.format(new Date(start_time)),
  },
  { id: "traces", name: "Traces", width: 80, end: true, cell: (row) => count.format(row.run_count) },
  { id: "tokens", name: "Tokens", width: 96, kept: true, end: true, cell: (row) => count.format(row.total_tokens) },
  { id: "cost", name: "Cost", width: 96, kept: true, end: true, cell: (row) => costText(String(row.total_cost)) },
];

const MODELS: Column<Group>[] = [
  { id: "model", name: "Model", width: 140, kept: true, grows: true, cell: ({ key }) => key || "not named" },
  { id: "calls", name: "Calls", width: 80, end: true, cell: (row) => count.format(row.run_count) },
  { id: "in", name: "Tokens in", width: 96, end: true, cell: (row) => count.format(row.prompt_tokens) },
  { id: "out", name: "Tokens out", width: 96, end: true, cell: (row) => count.format(row.completion_tokens) },
  { id: "cost", name: "Cost", width: 96, kept: true, end: true, cell: (row) => costText(String(row.total_cost)) },
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
  { id: "runs", name: "Runs", width: 96, kept: true, end: true, cell: ({ runs }) => count.format(runs) },
  { id: "bytes", name: "Size", width: 96, kept: true, end: true, cell: ({ bytes }) => bytesText(bytes) },
];
