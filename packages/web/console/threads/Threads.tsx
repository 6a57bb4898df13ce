/** The threads of all users, the newest first. */
import { useState } from "react";
import { Link, useLocation, useSearch } from "wouter";
import { useAssistants, useReadOn } from "../../api/queries.ts";
import { formatCurl } from "../../api/server.ts";
import type { Assistant, ThreadRow } from "../../api/types.ts";
import type { ViewProps } from "../../app/view-props.ts";
import { threadTip, threadTitle, waits } from "../../chat/thread-row.ts";
import { costText, countText, durationText } from "../../ui/format.ts";
import { Page } from "../../resources/Page.tsx";
import { keepRange } from "../../resources/range.ts";
import { useRange, RangePicker } from "../../resources/RangePicker.tsx";
import { State } from "../../resources/State.tsx";
import { Command, Empty, Loaded, Loading } from "../../resources/states.tsx";
import { Time } from "../../ui/Time.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import controls from "../../ui/controls.module.css";
import { useLater } from "../../ui/later.ts";
import css from "./threads.module.css";
import { readOwner, text, type SpentByThread, useAllThreads, useSpentByThread } from "./queries.ts";
import { Thread } from "./Thread.tsx";
import { ShowMore } from "../../resources/ListPage.tsx";

/** Milliseconds after the last letter, so that a word is one search. */
const SEARCH_MS = 200;

const START = formatCurl("/threads", '{"metadata": {"title": "First"}}');

export default function Threads({ id }: ViewProps) {
  return id === undefined ? <List /> : <Thread key={id} id={id} />;
}

function List() {
  const [range] = useRange();
  const spent = useSpentByThread(range);
  const [, navigate] = useLocation();
  const search = keepRange(useSearch());
  const assistants = useAssistants();
  const [typed, setTyped] = useState("");
  const words = useLater(typed.trim(), SEARCH_MS);
  const threads = useAllThreads(range, words);
  // The first pages may be newer than the range.
  const none = threads.data?.rows.length === 0;
  useReadOn(threads, none);
  return (
    <Page
      title="Threads"
      purpose="Conversations of all users, by their latest change."
      actions={<RangePicker />}
      tools={
        <input
          type="search"
          className={`${controls.field} ${css.search}`}
          placeholder="Words in the title or in a message"
          aria-label="Search threads"
          maxLength={200}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
      }
      aside={
        <>
          <h2>Read threads with the API</h2>
          <Command label="Copy the request" text={formatCurl("/threads/search", '{"limit": 10}')} />
        </>
      }
    >
      <Loaded query={threads} what="threads">
        {({ rows }) =>
          none && threads.hasNextPage && !threads.isError ? (
            <Loading />
          ) : none && !threads.hasNextPage ? (
            words !== "" ? (
              <Empty title={`No thread contains “${words}”.`} text={`${range.name}. Older threads may.`} />
            ) : (
              <Empty
                title="No threads changed in this time range."
                text="Choose a longer time range, or start a thread:"
                command={START}
              />
            )
          ) : (
            <>
              <Table
                label="Threads"
                columns={buildColumns(assistants.data ?? [], spent.data, search)}
                rows={rows}
                rowKey={threadKey}
                onOpen={({ thread_id }) => navigate(`/console/threads/${thread_id}${search}`)}
              />
              <ShowMore query={threads} />
            </>
          )
        }
      </Loaded>
    </Page>
  );
}

const threadKey = (thread: ThreadRow) => thread.thread_id;

function assistantName({ metadata }: ThreadRow, assistants: Assistant[]): string {
  const id = text(metadata?.assistant_id);
  return assistants.find((one) => one.assistant_id === id)?.name ?? text(metadata?.graph_id);
}

function buildColumns(
  assistants: Assistant[],
  spent: Map<string, SpentByThread> | undefined,
  search: string,
): Column<ThreadRow>[] {
  return [
    {
      id: "status",
      name: "Status",
      width: 104,
      kept: true,
      cell: (row) => <State state={row.status === "interrupted" && !waits(row) ? "idle" : row.status} />,
    },
    {
      id: "title",
      name: "Title",
      width: 160,
      kept: true,
      grows: true,
      cell: (row) => (
        <Link href={`/console/threads/${row.thread_id}${search}`} title={threadTip(threadTitle(row), row.thread_id)}>
          {threadTitle(row)}
        </Link>
      ),
    },
    {
      id: "updated",
      name: "Changed",
      width: 88,
      detail: true,
      end: true,
      cell: (row) => <Time at={row.updated_at} />,
    },
    { id: "assistant", name: "Assistant", width: 140, cell: (row) => assistantName(row, assistants) },
    { id: "user", name: "User", width: 140, cell: readOwner },
    {
      id: "runs",
      name: "Runs",
      width: 64,
      end: true,
      cell: ({ thread_id }) => {
        const runs = spent?.get(thread_id)?.runs;
        return runs !== undefined && countText(runs);
      },
    },
    {
      id: "latency",
      name: "Latency p50",
      width: 96,
      end: true,
      detail: true,
      cell: ({ thread_id }) => {
        const latency = spent?.get(thread_id)?.latency;
        return typeof latency === "number" && durationText(latency);
      },
    },
    {
      id: "cost",
      name: "Cost",
      width: 80,
      end: true,
      detail: true,
      cell: ({ thread_id }) => {
        const cost = spent?.get(thread_id)?.cost ?? 0;
        return cost > 0 && costText(cost);
      },
    },
  ];
}
