/** The threads of all users, the newest first. */
import { Link } from "wouter";
import { useAssistants } from "../../api/queries.ts";
import { SERVER } from "../../api/server.ts";
import type { Assistant, ThreadRow } from "../../api/types.ts";
import { titleOf, waits } from "../../sidebar/groups.ts";
import { Button } from "../../ui/Button.tsx";
import { exactTime, shortTime } from "../../ui/time.ts";
import { Page } from "../Page.tsx";
import { useRange } from "../range.ts";
import { RangePicker } from "../RangePicker.tsx";
import { State } from "../State.tsx";
import { Command, Empty, Loaded } from "../states.tsx";
import { type Column, Table } from "../Table.tsx";
import { useAllThreads } from "./queries.ts";

const START = `curl ${SERVER}/threads -X POST \\
  -H 'content-type: application/json' -d '{"metadata": {"title": "First"}}'`;

export default function Threads() {
  const [range] = useRange();
  const assistants = useAssistants();
  const threads = useAllThreads(range);
  return (
    <Page
      title="Threads"
      purpose="Conversations of all users, by their latest change."
      actions={<RangePicker />}
      aside={
        <>
          <h2>Read threads by the API</h2>
          <Command
            label="Copy the request"
            text={`curl ${SERVER}/threads/search -X POST \\\n  -H 'content-type: application/json' \\\n  -d '{"limit": 10}'`}
          />
        </>
      }
    >
      <Loaded query={threads} what="threads">
        {({ rows }) =>
          rows.length === 0 ? (
            <Empty
              title="No thread changed in this time."
              text="Choose a longer time range, or start a thread:"
              command={START}
            />
          ) : (
            <>
              <Table label="Threads" columns={columnsOf(assistants.data ?? [])} rows={rows} rowKey={keyOf} />
              {threads.hasNextPage && (
                <div>
                  <Button disabled={threads.isFetchingNextPage} onClick={() => void threads.fetchNextPage()}>
                    Show more
                  </Button>
                </div>
              )}
            </>
          )
        }
      </Loaded>
    </Page>
  );
}

const keyOf = (thread: ThreadRow) => thread.thread_id;

const text = (value: unknown) => (typeof value === "string" ? value : "");

/** Who a thread belongs to: what an auth handler noted in its metadata. */
const ownerOf = ({ metadata }: ThreadRow) => text(metadata?.owner) || text(metadata?.user_id) || text(metadata?.user);

function assistantName({ metadata }: ThreadRow, assistants: Assistant[]): string {
  const id = text(metadata?.assistant_id);
  return assistants.find((one) => one.assistant_id === id)?.name ?? text(metadata?.graph_id);
}

function columnsOf(assistants: Assistant[]): Column<ThreadRow>[] {
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
        <Link href={`/chat/${row.thread_id}`} title={titleOf(row)}>
          {titleOf(row)}
        </Link>
      ),
    },
    {
      id: "updated",
      name: "Changed",
      width: 80,
      end: true,
      cell: (row) => (
        <time dateTime={row.updated_at} title={exactTime(row.updated_at)}>
          {shortTime(row.updated_at)}
        </time>
      ),
    },
    { id: "assistant", name: "Assistant", width: 140, cell: (row) => assistantName(row, assistants) },
    { id: "user", name: "User", width: 140, cell: ownerOf },
  ];
}
