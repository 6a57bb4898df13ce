/** The runs of all threads that concern an operator: those under way, those that wait, and those that failed just now. */
import { useState } from "react";
import { Link, useSearchParams } from "wouter";
import { useMay } from "../../api/me.ts";
import { useAssistants } from "../../api/queries.ts";
import { formatCurl } from "../../api/server.ts";
import type { Assistant, ThreadRow } from "../../api/types.ts";
import { threadTip, threadTitle } from "../../chat/thread-row.ts";
import { Button } from "../../ui/Button.tsx";
import controls from "../../ui/controls.module.css";
import { Confirm } from "../../resources/Confirm.tsx";
import { countText } from "../../ui/format.ts";
import { Page } from "../../resources/Page.tsx";
import { keepRange } from "../../resources/range.ts";
import { State } from "../../resources/State.tsx";
import { Empty, Loaded } from "../../resources/states.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";
import { untilText } from "../../ui/days.ts";
import work from "../../resources/work.module.css";
import { Failed } from "./Failed.tsx";
import { describeWait, findCron, type OpenRun, type Split, splitRuns } from "./open.ts";
import { cancelPending, cancelRun, useLiveRuns, useOpenRuns, useThreadsById, writeAssistantFilter } from "./queries.ts";

const START = formatCurl(
  "/runs",
  `{
    "assistant_id": "agent",
    "input": {"messages": [{"role": "user", "content": "Hi"}]}
  }`,
);

export default function Runs() {
  useLiveRuns();
  const may = useMay();
  const [params, setParams] = useSearchParams();
  const assistants = useAssistants();
  const assistant = params.get("assistant") ?? "";
  const choose = (id: string) =>
    setParams(
      (now) => {
        const next = new URLSearchParams(now);
        next.delete("assistant");
        if (id !== "") next.set("assistant", id);
        return next;
      },
      { replace: true },
    );
  const traces = new URLSearchParams(keepRange(params.toString()));
  if (assistant !== "") traces.set("filter", writeAssistantFilter(assistant));
  return (
    <Page
      title="Runs"
      purpose="Runs of all users: running, queued and just failed."
      actions={
        may("traces.read") && (
          <Link
            href={`/traces${traces.size > 0 ? `?${traces}` : ""}`}
            className={`${controls.button} ${controls.plain} ${work.link}`}
          >
            Finished runs in Traces
          </Link>
        )
      }
      tools={
        <select
          className={`${controls.field} ${work.select}`}
          aria-label="Assistant"
          value={assistant}
          onChange={(event) => choose(event.target.value)}
        >
          <option value="">All assistants</option>
          {assistants.data?.map((one) => (
            <option key={one.assistant_id} value={one.assistant_id}>
              {one.name}
            </option>
          ))}
        </select>
      }
    >
      <Open assistant={assistant} assistants={assistants.data ?? []} />
      {may("traces.read") && <Failed assistant={assistant} />}
    </Page>
  );
}

function Open({ assistant, assistants }: { assistant: string; assistants: Assistant[] }) {
  const open = useOpenRuns();
  const runs = open.data?.runs.filter((run) => assistant === "" || run.assistant_id === assistant) ?? [];
  const threads = useThreadsById(runs.map(({ thread_id }) => thread_id));
  return (
    <Loaded query={open} what="open runs" rows={4}>
      {({ complete }) => (
        <>
          <Lists split={splitRuns(runs, Date.now())} threads={threads.data ?? new Map()} assistants={assistants} />
          {!complete && (
            <p className={work.note}>Not all open runs are listed: there are more than this page can read.</p>
          )}
        </>
      )}
    </Loaded>
  );
}

function Lists({
  split: { running, queued },
  threads,
  assistants,
}: {
  split: Split;
  threads: Map<string, ThreadRow>;
  assistants: Assistant[];
}) {
  const may = useMay();
  const [asked, setAsked] = useState(false);
  const shared = sharedColumns(threads, assistants);
  if (running.length + queued.length === 0)
    return (
      <Empty
        title="Nothing runs or waits now."
        text="A run is listed here when it starts, and leaves when it has ended. Start one:"
        command={START}
      />
    );
  return (
    <>
      <section className={work.section} aria-label="Running">
        <div className={work.head}>
          <h2>Running{running.length > 0 && <span className={work.count}>{countText(running.length)}</span>}</h2>
        </div>
        {running.length === 0 ? (
          <p className={work.none}>Nothing runs now.</p>
        ) : (
          <Table label="Running" rows={running} rowKey={runKey} columns={runningColumns(shared)} />
        )}
      </section>
      <section className={work.section} aria-label="Queued">
        <div className={work.head}>
          <h2>Queued{queued.length > 0 && <span className={work.count}>{countText(queued.length)}</span>}</h2>
          {queued.length > 1 && may("runs.create") && <Button onClick={() => setAsked(true)}>Cancel all queued</Button>}
        </div>
        {queued.length === 0 ? (
          <p className={work.none}>
            No run waits. A thread executes one run at a time; others of the thread wait here.
          </p>
        ) : (
          <Table label="Queued" rows={queued} rowKey={runKey} columns={queuedColumns(shared)} />
        )}
      </section>
      {asked && (
        <Confirm
          title="Cancel all queued runs?"
          text="Each run of this workspace that waits for its turn or its time is cancelled, on every thread. Runs under way continue."
          act="Cancel all queued"
          needs="runs.create"
          onAct={cancelPending}
          onClose={() => setAsked(false)}
        />
      )}
    </>
  );
}

type Shared = Column<OpenRun>[];

const runningColumns = (shared: Shared): Column<OpenRun>[] => [
  { id: "state", name: "Status", width: 96, cell: () => <State state="running" /> },
  ...shared,
  { id: "attempt", name: "Attempt", width: 64, end: true, cell: ({ attempt }) => attempt },
  { id: "since", name: "Started", width: 88, end: true, detail: true, cell: (run) => <Time at={run.updated_at} /> },
  { id: "act", name: "", width: 92, kept: true, end: true, cell: (run) => <Cancel run={run} /> },
];

const queuedColumns = (shared: Shared): Column<Split["queued"][number]>[] => [
  {
    id: "place",
    name: "Place",
    width: 96,
    detail: true,
    cell: ({ place, due }) => (due ? `${place} in line` : "scheduled"),
  },
  ...shared,
  {
    id: "for",
    name: "Waits for",
    width: 140,
    detail: true,
    cell: (run) => <span title={describeWait(run)}>{describeWait(run)}</span>,
  },
  {
    id: "since",
    name: "Due",
    width: 72,
    detail: true,
    end: true,
    cell: ({ due, created_at }) => (due ? <Time at={created_at} /> : untilText(created_at)),
  },
  { id: "act", name: "", width: 92, kept: true, end: true, cell: (run) => <Cancel run={run} /> },
];

const runKey = (run: OpenRun) => run.run_id;

function sharedColumns(threads: Map<string, ThreadRow>, assistants: Assistant[]): Shared {
  const nameThread = (run: OpenRun) => threadTitle(threads.get(run.thread_id));
  return [
    {
      id: "thread",
      name: "Thread",
      width: 140,
      kept: true,
      grows: true,
      cell: (run) => (
        <Link href={`/chat/${run.thread_id}`} title={threadTip(nameThread(run), run.thread_id)}>
          {nameThread(run)}
        </Link>
      ),
    },
    {
      id: "assistant",
      name: "Assistant",
      width: 140,
      cell: ({ assistant_id }) => (
        <Link href={`/console/assistants/${assistant_id}`}>
          {assistants.find((one) => one.assistant_id === assistant_id)?.name ?? assistant_id.slice(0, 8)}
        </Link>
      ),
    },
    {
      id: "by",
      name: "Started by",
      width: 96,
      cell: (run) => {
        const cron = findCron(run);
        return cron === undefined ? "request" : <Link href={`/console/crons/${cron}`}>cron</Link>;
      },
    },
  ];
}

function Cancel({ run }: { run: OpenRun }) {
  const may = useMay();
  const [state, setState] = useState<"" | "busy" | { trouble: string }>("");
  const cancel = async () => {
    setState("busy");
    try {
      await cancelRun(run);
    } catch (error) {
      setState({ trouble: error instanceof Error ? error.message : "The run was not cancelled." });
    }
  };
  if (!may("runs.create")) return null;
  return (
    <Button
      look="quiet"
      disabled={state === "busy"}
      aria-label={`Cancel the run ${run.run_id}`}
      title={typeof state === "object" ? state.trouble : undefined}
      onClick={() => void cancel()}
    >
      {state === "busy" ? "Cancelling…" : typeof state === "object" ? "Try again" : "Cancel"}
    </Button>
  );
}
