/** Which threads that wait cannot continue on the deployed graphs, why, and the ways out. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { Loaded } from "../../resources/states.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { Button } from "../../ui/Button.tsx";
import { countText } from "../../ui/format.ts";
import css from "../../resources/parts.module.css";
import { Section } from "../../resources/Fields.tsx";
import { CHECKED_MOST, checkThreads } from "./queries.ts";
import type { Check } from "./types.ts";
import work from "./control.module.css";

type Stuck = Check["threads"][number];

export function DeployCheck() {
  // Each check reads every thread that waits, so it runs when the view opens and by the button.
  const check = useQuery({ queryKey: ["deploy-check"], queryFn: checkThreads, staleTime: 60_000 });
  return (
    <Section
      title="Threads on the deployed version"
      act={
        <Button disabled={check.isFetching} onClick={() => void check.refetch()}>
          Check again
        </Button>
      }
    >
      <Loaded query={check} what="check" rows={2}>
        {({ counts, threads, complete }) => (
          <>
            <Counts counts={counts} />
            {!complete && (
              <p className={css.note}>
                Only the first {countText(CHECKED_MOST)} threads are compared. The command compares all.
              </p>
            )}
            {threads.length > 0 && (
              <>
                <Table
                  label="Threads that cannot continue"
                  columns={COLUMNS}
                  rows={threads}
                  rowKey={({ thread_id }) => thread_id}
                />
                <p className={css.note}>
                  Such a thread keeps its state and its question. There are three ways out: deploy a version with a{" "}
                  <a href="/docs/deploys#migrate">migration</a> or with the missing names, fork the thread from an
                  earlier checkpoint, or start a run with a new input.
                </p>
              </>
            )}
          </>
        )}
      </Loaded>
    </Section>
  );
}

function Counts({ counts }: Pick<Check, "counts">) {
  const rows = Object.entries(counts).map(([graph, count]) => ({ graph, ...count }));
  if (rows.length === 0) return <p className={css.note}>No thread waits, so every thread can continue.</p>;
  return <Table label="Threads by graph" columns={COUNTS} rows={rows} rowKey={({ graph }) => graph} />;
}

type Count = Check["counts"][string] & { graph: string };

const number = (id: keyof Check["counts"][string], name: string, width: number, kept = false): Column<Count> => ({
  id,
  name,
  width,
  kept,
  end: true,
  cell: (row) => countText(row[id]),
});

const COUNTS: Column<Count>[] = [
  { id: "graph", name: "Graph", width: 110, kept: true, grows: true, cell: ({ graph }) => graph },
  number("checked", "Waiting", 72, true),
  number("cannot_continue", "Cannot continue", 120, true),
  number("migrated", "Will be migrated", 120),
  number("unknown", "Not compared", 110),
];

const COLUMNS: Column<Stuck>[] = [
  {
    id: "thread",
    name: "Thread",
    width: 96,
    kept: true,
    cell: ({ thread_id }) => (
      <Link href={`/console/threads/${thread_id}`} title={thread_id}>
        {thread_id.slice(0, 8)}
      </Link>
    ),
  },
  { id: "graph", name: "Graph", width: 110, cell: ({ graph_id }) => graph_id },
  {
    id: "why",
    name: "Missing",
    width: 110,
    kept: true,
    grows: true,
    cell: ({ reasons }) => <span title={reasons.join(", ")}>{reasons.join(", ")}</span>,
  },
  {
    id: "ways",
    name: "Ways out",
    width: 210,
    cell: ({ thread_id }) => (
      <span className={work.ways}>
        <a href="/docs/deploys#migrate">Migrate</a>
        <Link href={`/console/threads/${thread_id}`}>Fork</Link>
        <Link href={`/chat/${thread_id}`}>New input</Link>
      </span>
    ),
  },
];
