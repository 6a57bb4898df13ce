/** Current activity, failures, costs, and exports. */
import { useState } from "react";
import { Link } from "wouter";
import { useProjects } from "../../api/queries.ts";
import { StartSteps, useIsEmpty } from "../../chat/welcome/StartSteps.tsx";
import { Button } from "../../ui/Button.tsx";
import { axisText, costText, countText, durationText } from "../../ui/format.ts";
import { changeText, shareText, shortCount } from "../../ui/shares.ts";
import { timeZone } from "../../ui/intl.ts";
import { soonTime } from "../../ui/time.ts";
import { Page } from "../../resources/Page.tsx";
import { LONGEST, type Range } from "../../resources/range.ts";
import { useRange, RangePicker } from "../../resources/RangePicker.tsx";
import { Empty, Loaded, Loading } from "../../resources/states.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { Exports, Failed, Running, Waiting } from "./Lists.tsx";
import controls from "../../ui/controls.module.css";
import css from "./overview.module.css";
import { Plot, type Line } from "./Plot.tsx";
import { type Bucket, type RunMetrics, type Series, useLive, usePrevious, useSeries } from "./queries.ts";

export default function Overview() {
  const [range, choose] = useRange();
  const series = useSeries(range);
  const projects = useProjects();
  // The first steps take the place of the figures where nothing has run.
  const isKnown = series.data ? series.data.total.run_count > 0 || !projects.isPending : series.error !== null;
  useLive();
  return (
    <Page
      title="Overview"
      purpose="What runs, what waits for you, what failed, and what it costs."
      actions={<RangePicker />}
    >
      <div className={css.course}>
        <Loaded query={series} what="figures" rows={6}>
          {(data) =>
            isKnown ? (
              <Course data={data} range={range} onChoose={(from, to) => choose({ from, to })} />
            ) : (
              <Loading rows={6} />
            )
          }
        </Loaded>
      </div>
      <div className={css.lists} data-early={!isKnown || undefined}>
        <Waiting />
        <Running />
        <Failed range={range} />
        <Exports />
      </div>
    </Page>
  );
}

function Course({
  data,
  range,
  onChoose,
}: {
  data: Series;
  range: Range;
  onChoose: (from: number, to: number) => void;
}) {
  const [table, setTable] = useState(false);
  const { total, buckets, complete } = data;
  const empty = useIsEmpty();
  const previous = usePrevious(range, total.run_count > 0);
  if (total.run_count === 0 && empty)
    return (
      <>
        <h2 className={css.start}>Nothing has run here yet</h2>
        <StartSteps
          talk={
            <p>
              <Link href="/chat" className={`${controls.button} ${controls.filled}`}>
                Talk to an agent
              </Link>
            </p>
          }
        />
      </>
    );
  if (total.run_count === 0)
    return (
      <Empty title="No runs in this time range." text="Older runs are in a longer time range.">
        <p>
          <Link href={`/?range=${LONGEST.key}`}>Show the {LONGEST.name}</Link> ·{" "}
          <Link href="/chat">Talk to an agent</Link>
        </p>
      </Empty>
    );
  const times = buckets.map(({ start_time }) => Date.parse(start_time));
  const of = (pick: (bucket: Bucket) => number | null) => buckets.map(pick);
  const shared = { times, onChoose };
  const before = usable(previous.data);
  const moved = before && moveBuckets(before.buckets, times);
  /** The line of the period before, which has no values before they are there: another line would draw the plot anew. */
  const past = (pick: (bucket: Bucket) => number | null): Line => {
    const values = times.map((_, i) => (moved?.[i] ? pick(moved[i]) : null));
    return { name: "before", ink: "--text-3", values, dashed: true };
  };
  return (
    <>
      <Totals total={total} before={before?.total} />
      {!complete && (
        <p className={css.note}>
          This time range has too many runs to count at once. The figures cover its newest days.
        </p>
      )}
      {table ? (
        <Table
          label={`Figures, ${range.name}`}
          columns={COLUMNS}
          rows={buckets}
          rowKey={({ start_time }) => start_time}
        />
      ) : (
        <div className={css.plots}>
          <Plot
            {...shared}
            title="Runs"
            unit="count"
            format={shortCount}
            lines={[
              { name: "all", ink: "--water", values: of(({ run_count }) => run_count), columns: true },
              { name: "failed", ink: "--red", values: of(({ error_count }) => error_count), columns: true },
              past(({ run_count }) => run_count),
            ]}
          />
          <Plot
            {...shared}
            title="Latency"
            unit="duration"
            format={axisText}
            lines={[
              { name: "p50", ink: "--water", values: of(({ latency_p50 }) => latency_p50) },
              { name: "p99", ink: "--brass", values: of(({ latency_p99 }) => latency_p99) },
              past(({ latency_p50 }) => latency_p50),
            ]}
          />
          <Plot
            {...shared}
            title="Tokens"
            unit="count"
            format={shortCount}
            lines={[
              { name: "tokens", ink: "--water", values: of(({ total_tokens }) => total_tokens), columns: true },
              past(({ total_tokens }) => total_tokens),
            ]}
          />
          <Plot
            {...shared}
            title="Cost"
            format={costText}
            lines={[
              { name: "cost", ink: "--water", values: of(({ total_cost }) => total_cost), columns: true },
              past(({ total_cost }) => total_cost),
            ]}
          />
        </div>
      )}
      <div className={css.switch}>
        <Button look="quiet" aria-pressed={table} onClick={() => setTable(!table)}>
          {table ? "Show plots" : "Show as table"}
        </Button>
      </div>
    </>
  );
}

const seconds = (value: number | null) => (value === null ? "–" : durationText(value));

/** A period without runs is nothing to compare with. */
const usable = (before: Series | undefined) => (before && before.total.run_count > 0 ? before : undefined);

/**
 * The buckets of the period before, moved to these times: the last stands at the last, since the first of either may be a part of an
 * interval only.
 */
const moveBuckets = (before: Bucket[], times: number[]): (Bucket | undefined)[] =>
  times.map((_, i) => before[before.length - times.length + i]);

function Totals({ total, before }: { total: RunMetrics; before: RunMetrics | undefined }) {
  const facts: { name: string; value: string; more?: string; of: (metrics: RunMetrics) => number | null }[] = [
    {
      name: "Runs",
      value: countText(total.run_count),
      more: total.pending_count > 0 ? `${countText(total.pending_count)} open` : "",
      of: ({ run_count }) => run_count,
    },
    {
      name: "Failed",
      value: countText(total.error_count),
      more: shareText(total.error_count / total.run_count),
      of: ({ error_count }) => error_count,
    },
    { name: "Latency p50", value: seconds(total.latency_p50), of: ({ latency_p50 }) => latency_p50 },
    { name: "Latency p99", value: seconds(total.latency_p99), of: ({ latency_p99 }) => latency_p99 },
    { name: "Tokens", value: shortCount(total.total_tokens), of: ({ total_tokens }) => total_tokens },
    { name: "Cost", value: costText(total.total_cost), of: ({ total_cost }) => total_cost },
  ];
  return (
    <dl className={css.totals}>
      {facts.map(({ name, value, more, of }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd data-failed={(name === "Failed" && total.error_count > 0) || undefined}>
            {value} {more && <small>{more}</small>}
          </dd>
          {/* It has its line before the figures of the period before are there. */}
          <dd className={css.change}>{before && changeText(of(total), of(before))}</dd>
        </div>
      ))}
    </dl>
  );
}

const COLUMNS: Column<Bucket>[] = [
  {
    id: "time",
    name: `From (${timeZone()})`,
    width: 168,
    kept: true,
    grows: true,
    cell: ({ start_time }) => soonTime(start_time),
  },
  { id: "runs", name: "Runs", width: 72, kept: true, end: true, cell: (row) => countText(row.run_count) },
  { id: "failed", name: "Failed", width: 72, end: true, cell: (row) => countText(row.error_count) },
  { id: "p50", name: "p50", width: 80, end: true, cell: (row) => seconds(row.latency_p50) },
  { id: "p99", name: "p99", width: 80, end: true, cell: (row) => seconds(row.latency_p99) },
  { id: "tokens", name: "Tokens", width: 96, end: true, cell: (row) => countText(row.total_tokens) },
  { id: "cost", name: "Cost", width: 80, end: true, cell: (row) => costText(row.total_cost) },
];
