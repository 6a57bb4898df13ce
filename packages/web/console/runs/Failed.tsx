/** Runs that failed in the last minutes, by their traces. */
import { Link, useLocation } from "wouter";
import { countText, durationText, firstLine } from "../../ui/format.ts";
import { State } from "../../resources/State.tsx";
import { Loaded } from "../../resources/states.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";
import work from "../../resources/work.module.css";
import { FAILED_MINUTES, type FailedRun, useFailedRuns } from "./queries.ts";

export function Failed({ assistant }: { assistant: string }) {
  const failed = useFailedRuns(assistant);
  const [, navigate] = useLocation();
  return (
    <section className={work.section} aria-label="Failed">
      <div className={work.head}>
        <h2>
          Failed in the last {FAILED_MINUTES} minutes
          {failed.data && failed.data.length > 0 && <span className={work.count}>{countText(failed.data.length)}</span>}
        </h2>
      </div>
      <Loaded query={failed} what="failed runs" rows={2}>
        {(rows) =>
          rows.length === 0 ? (
            <p className={work.none}>No run failed.</p>
          ) : (
            <Table
              label="Failed"
              columns={COLUMNS}
              rows={rows}
              rowKey={({ trace_id }) => trace_id}
              onOpen={({ trace_id }) => navigate(`/traces/${trace_id}`)}
            />
          )
        }
      </Loaded>
    </section>
  );
}

const COLUMNS: Column<FailedRun>[] = [
  {
    id: "status",
    name: "Status",
    width: 96,
    kept: true,
    cell: ({ status, extra }) => <State state={extra?.runtime?.run?.status ?? status} />,
  },
  {
    id: "name",
    name: "Run",
    width: 120,
    kept: true,
    grows: true,
    cell: ({ trace_id, name, error }) => (
      <>
        <Link href={`/traces/${trace_id}`}>{name}</Link>
        <span className={work.trouble}> {firstLine(error ?? "")}</span>
      </>
    ),
  },
  {
    id: "thread",
    name: "Thread",
    width: 96,
    cell: ({ thread_id }) => thread_id && <Link href={`/chat/${thread_id}`}>Open thread</Link>,
  },
  { id: "attempt", name: "Attempt", width: 64, end: true, cell: ({ extra }) => extra?.metadata?.run_attempt },
  {
    id: "took",
    name: "Took",
    width: 88,
    detail: true,
    end: true,
    cell: ({ start_time, end_time }) =>
      end_time && durationText((Date.parse(end_time) - Date.parse(start_time)) / 1000),
  },
  { id: "ended", name: "Ended", width: 88, end: true, detail: true, cell: ({ end_time }) => <Time at={end_time} /> },
];
