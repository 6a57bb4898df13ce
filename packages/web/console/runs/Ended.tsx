/** Runs that have ended, by their traces. */
import type { ReactNode } from "react";
import { Link, useLocation } from "wouter";
import { costText, countText, durationText, firstLine } from "../../ui/format.ts";
import { Button } from "../../ui/Button.tsx";
import type { Range } from "../../page/range.ts";
import { State } from "../../page/State.tsx";
import { Loaded } from "../../page/states.tsx";
import { type Column, Table } from "../../page/Table.tsx";
import { Time } from "../../page/Time.tsx";
import work from "../work.module.css";
import { type EndedRun, runStatus, useEndedRuns } from "./queries.ts";

export function Ended({
  range,
  assistant,
  failed,
  onFailed,
  empty,
}: {
  range: Range;
  assistant: string;
  failed: boolean;
  onFailed: (only: boolean) => void;
  /** Shown when nothing ended in the range. */
  empty: ReactNode;
}) {
  const runs = useEndedRuns(range, failed, assistant);
  const [, navigate] = useLocation();
  return (
    <section className={work.section} aria-label="Finished">
      <div className={work.head}>
        <h2>Finished</h2>
        <div className={work.chips}>
          <button type="button" className={work.chip} aria-pressed={!failed} onClick={() => onFailed(false)}>
            All
          </button>
          <button type="button" className={work.chip} aria-pressed={failed} onClick={() => onFailed(true)}>
            Failed
          </button>
        </div>
      </div>
      <Loaded query={runs} what="finished runs">
        {({ rows }) =>
          rows.length === 0 ? (
            failed || assistant !== "" ? (
              <p className={work.none}>
                {failed ? "No run failed in this time range." : "No run of this assistant ended in this time range."}
              </p>
            ) : (
              empty
            )
          ) : (
            <>
              <Table
                label="Finished"
                columns={COLUMNS}
                rows={rows}
                rowKey={({ trace_id }) => trace_id}
                onOpen={({ trace_id }) => navigate(`/traces/${trace_id}`)}
              />
              {runs.hasNextPage && (
                <div>
                  <Button disabled={runs.isFetchingNextPage} onClick={() => void runs.fetchNextPage()}>
                    Show more
                  </Button>
                </div>
              )}
            </>
          )
        }
      </Loaded>
    </section>
  );
}

const Ending = ({ status }: { status: string }) => (
  <State state={status} {...(status === "interrupted" && { word: "interrupted" })} />
);

const COLUMNS: Column<EndedRun>[] = [
  { id: "status", name: "Status", width: 96, kept: true, cell: (run) => <Ending status={runStatus(run)} /> },
  {
    id: "name",
    name: "Run",
    width: 120,
    kept: true,
    grows: true,
    cell: ({ trace_id, name, error, inputs_preview }) => (
      <>
        <Link href={`/traces/${trace_id}`}>{name}</Link>
        {error ? (
          <span className={work.trouble}> {firstLine(error)}</span>
        ) : (
          <span className={work.faint}> {inputs_preview}</span>
        )}
      </>
    ),
  },
  {
    id: "start",
    name: "Started",
    width: 88,
    end: true,
    fact: true,
    cell: ({ start_time }) => <Time at={start_time} />,
  },
  {
    id: "took",
    name: "Took",
    width: 88,
    fact: true,
    end: true,
    cell: ({ start_time, end_time }) =>
      end_time && durationText((Date.parse(end_time) - Date.parse(start_time)) / 1000),
  },
  {
    id: "thread",
    name: "Thread",
    width: 88,
    cell: ({ thread_id }) => thread_id && <Link href={`/chat/${thread_id}`}>Open thread</Link>,
  },
  {
    id: "tokens",
    name: "Tokens",
    width: 72,
    end: true,
    cell: ({ total_tokens }) => total_tokens > 0 && countText(total_tokens),
  },
  {
    id: "cost",
    name: "Cost",
    width: 72,
    fact: true,
    end: true,
    cell: ({ total_cost }) => total_cost !== null && Number(total_cost) > 0 && costText(total_cost),
  },
];
