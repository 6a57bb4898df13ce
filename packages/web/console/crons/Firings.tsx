/** The last due times of a cron, with the run of each. */
import { Link } from "wouter";
import { countText } from "../../ui/format.ts";
import { exactTime, soonTime } from "../../ui/time.ts";
import { State } from "../../resources/State.tsx";
import { Loaded } from "../../resources/states.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import work from "../../resources/work.module.css";
import { useFirings } from "./queries.ts";
import { FIRING_STATES, isFailure } from "./firing.ts";
import type { Firing } from "../../../../src/automation/crons/wire.ts";

const LATEST = 100;

/** `deletes`: the thread of a run is deleted after it. */
export function Firings({ id, deletes }: { id: string; deletes: boolean }) {
  const firings = useFirings([id], LATEST);
  return (
    <section className={work.section} aria-label="Last due times">
      <div className={work.head}>
        <h2>Last due times</h2>
      </div>
      <Loaded query={firings} what="due times" rows={4}>
        {(byCron) => {
          const rows = byCron.get(id) ?? [];
          if (rows.length === 0)
            return <p className={work.none}>It has not been due yet. Due times of the last 7 days are listed here.</p>;
          const failed = rows.filter(isFailure).length;
          return (
            <>
              <p className={work.none}>
                {failed === 0 ? "None" : countText(failed)} of the last {countText(rows.length)} failed.
              </p>
              <Table
                label="Last due times"
                columns={deletes ? COLUMNS.filter((one) => one.id !== "thread") : COLUMNS}
                rows={rows}
                rowKey={({ due }) => due}
              />
            </>
          );
        }}
      </Loaded>
    </section>
  );
}

const COLUMNS: Column<Firing>[] = [
  {
    id: "state",
    name: "Status",
    width: 120,
    kept: true,
    cell: ({ state, error }) => (
      <span title={error ?? undefined}>
        <State {...FIRING_STATES[state]} />
      </span>
    ),
  },
  {
    id: "due",
    name: "Due",
    width: 120,
    kept: true,
    grows: true,
    cell: ({ due }) => (
      <time dateTime={due} title={exactTime(due)}>
        {soonTime(due)}
      </time>
    ),
  },
  {
    id: "trace",
    name: "Trace",
    width: 96,
    detail: true,
    cell: ({ state, run_id }) =>
      (state === "ended" || state === "failed") && <Link href={`/traces/${run_id}`}>Open trace</Link>,
  },
  {
    id: "thread",
    name: "Thread",
    width: 96,
    detail: true,
    cell: ({ state, thread_id }) => state !== "refused" && <Link href={`/chat/${thread_id}`}>Open thread</Link>,
  },
];
