/** The runs that wait for a rule, in their order. */
import { Link } from "wouter";
import { threadTip, threadTitle } from "../../chat/thread-row.ts";
import { Loaded } from "../../resources/states.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";
import css from "../../resources/parts.module.css";
import { waitsForText } from "../runs/open.ts";
import { useThreadsById } from "../runs/queries.ts";
import { countText } from "../../ui/format.ts";
import { Section } from "../../resources/Fields.tsx";
import { MOST, useWaiting } from "./queries.ts";
import type { WaitingRun } from "./types.ts";

export function Waiting() {
  const waiting = useWaiting();
  const threads = useThreadsById(waiting.data?.map(({ thread_id }) => thread_id) ?? []);
  const nameThread = ({ thread_id }: WaitingRun) => threadTitle(threads.data?.get(thread_id));
  return (
    <Section title="Waiting runs">
      <Loaded query={waiting} what="waiting runs" rows={2}>
        {(rows) =>
          rows.length === 0 ? (
            <p className={css.note}>No run waits for a rule.</p>
          ) : (
            <>
              <Table
                label="Waiting runs"
                columns={buildColumns(nameThread)}
                rows={rows}
                rowKey={({ run_id }) => run_id}
              />
              {rows.length === MOST && <p className={css.note}>Only the first {countText(MOST)} runs are listed.</p>}
            </>
          )
        }
      </Loaded>
    </Section>
  );
}

const buildColumns = (nameThread: (run: WaitingRun) => string): Column<WaitingRun>[] => [
  { id: "position", name: "Position", width: 72, kept: true, end: true, cell: ({ position }) => position },
  {
    id: "thread",
    name: "Thread",
    width: 110,
    kept: true,
    grows: true,
    cell: (run) => (
      <Link href={`/console/threads/${run.thread_id}`} title={threadTip(nameThread(run), run.thread_id)}>
        {nameThread(run)}
      </Link>
    ),
  },
  {
    id: "for",
    name: "Waits for",
    width: 140,
    kept: true,
    cell: (run) => <span title={waitsForText(run)}>{waitsForText(run)}</span>,
  },
  { id: "priority", name: "Priority", width: 72, end: true, cell: ({ priority }) => priority },
  { id: "since", name: "Waits since", width: 96, end: true, cell: ({ since }) => <Time at={since} /> },
];
