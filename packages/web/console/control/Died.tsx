/** Runs that the server gave up because their process stopped too often, and the way to continue them. */
import { useState } from "react";
import { Link } from "wouter";
import { useMay, useAction } from "../../api/me.ts";
import type { ThreadRow } from "../../api/types.ts";
import { threadTip, threadTitle } from "../../chat/thread-row.ts";
import { Loaded } from "../../resources/states.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";
import { Button } from "../../ui/Button.tsx";
import css from "../../resources/parts.module.css";
import { useThreadsById } from "../runs/queries.ts";
import { Section } from "../../resources/Fields.tsx";
import { DIED_DAYS, resumeThread, useDiedRuns } from "./queries.ts";
import type { DiedRun } from "./types.ts";

export function Died() {
  const died = useDiedRuns();
  const threads = useThreadsById(died.data?.flatMap(({ thread_id }) => thread_id ?? []) ?? []);
  return (
    <Section title="Crashed runs">
      <Loaded query={died} what="crashed runs" rows={2}>
        {(rows) =>
          rows.length === 0 ? (
            <p className={css.note}>No run of the last {DIED_DAYS} days ended because its process stopped too often.</p>
          ) : (
            <>
              <Table
                label="Crashed runs"
                columns={buildColumns(threads.data ?? new Map())}
                rows={rows}
                rowKey={({ id }) => id}
              />
              <p className={css.note}>
                A resumed run continues from the last checkpoint of its thread, on the version that is deployed now. The
                usual cause is memory; see <a href="/docs/operations#runs-stand-still">Runs stand still</a>.
              </p>
            </>
          )
        }
      </Loaded>
    </Section>
  );
}

const buildColumns = (threads: Map<string, ThreadRow>): Column<DiedRun>[] => [
  {
    id: "thread",
    name: "Thread",
    width: 110,
    kept: true,
    cell: ({ thread_id, name }) => {
      if (thread_id === null) return name;
      const title = threadTitle(threads.get(thread_id));
      return (
        <Link href={`/console/threads/${thread_id}`} title={threadTip(title, thread_id)}>
          {title}
        </Link>
      );
    },
  },
  {
    id: "error",
    name: "Error",
    width: 120,
    grows: true,
    cell: ({ trace_id, error }) => (
      <Link href={`/traces/${trace_id}`} title={error ?? ""}>
        {error ?? ""}
      </Link>
    ),
  },
  { id: "ended", name: "Ended", width: 88, end: true, cell: ({ end_time }) => <Time at={end_time} /> },
  {
    id: "act",
    name: "",
    width: 160,
    kept: true,
    end: true,
    cell: (run) => <Resume run={run} thread={threads.get(run.thread_id ?? "")} />,
  },
];

function Resume({ run, thread }: { run: DiedRun; thread: ThreadRow | undefined }) {
  const may = useMay();
  const action = useAction("runs.create");
  // The list of threads follows a moment later.
  const [resumed, setResumed] = useState(false);
  const assistant = run.extra?.metadata?.assistant_id;
  if (!thread) return null;
  // Another run has continued the thread since.
  if (resumed || thread.status !== "error") return "continued";
  if (assistant === undefined || !may("runs.create")) return null;
  return (
    <>
      {action.trouble !== "" && (
        <span className={css.trouble} role="alert">
          {action.trouble}
        </span>
      )}
      <Button
        disabled={action.busy}
        onClick={() =>
          void action.run(async () => {
            await resumeThread(thread.thread_id, assistant);
            setResumed(true);
          })
        }
      >
        Resume from here
      </Button>
    </>
  );
}
