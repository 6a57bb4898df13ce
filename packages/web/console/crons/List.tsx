import { Link, useLocation } from "wouter";
import { useMay } from "../../api/me.ts";
import { useAssistants } from "../../api/queries.ts";
import { formatCurl } from "../../api/server.ts";
import type { Assistant } from "../../api/types.ts";
import { Button } from "../../ui/Button.tsx";
import controls from "../../ui/controls.module.css";
import { exactTime } from "../../ui/time.ts";
import { Page } from "../../resources/Page.tsx";
import { State } from "../../resources/State.tsx";
import { Command, Empty, Loaded } from "../../resources/states.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";
import work from "../../resources/work.module.css";
import css from "./crons.module.css";
import type { Cron } from "./draft.ts";
import { useCrons, useFirings } from "./queries.ts";
import { type Firing, FIRING_STATES, isFailure, standing } from "./firing.ts";
import { untilText } from "../../ui/days.ts";

/** Due times that the list shows of each cron. */
const LATEST = 10;

const CREATE = formatCurl(
  "/runs/crons",
  `{
    "assistant_id": "agent",
    "schedule": "0 9 * * 1-5",
    "timezone": "Europe/Berlin",
    "input": {"messages": [{"role": "user", "content": "Summarize the news."}]}
  }`,
);

export function List() {
  const may = useMay();
  const crons = useCrons();
  const assistants = useAssistants();
  const rows = crons.data?.rows ?? [];
  const firings = useFirings(
    rows.map(({ cron_id }) => cron_id),
    LATEST,
  );
  const [, navigate] = useLocation();
  return (
    <Page
      title="Crons"
      purpose="Scheduled runs: when each is due, and how the last ones ended."
      actions={
        may("crons.write") && (
          <Link href="/console/crons/new" className={`${controls.button} ${controls.filled} ${css.new}`}>
            New cron
          </Link>
        )
      }
      aside={
        rows.length > 0 && (
          <>
            <h2>Create a cron with the API</h2>
            <Command text={CREATE} />
            <p>Each due time starts exactly one run, even if the timer fires late or twice.</p>
          </>
        )
      }
    >
      <Loaded query={crons} what="crons">
        {() =>
          rows.length === 0 ? (
            <Empty
              title="No crons yet."
              text="A cron starts a run of an assistant on a schedule, on a thread of its own or always on the same one. Create one with the button above, or with the API:"
              command={CREATE}
            />
          ) : (
            <>
              {firings.error && (
                <p className={work.trouble} role="alert">
                  The last due times did not load. {firings.error.message}
                </p>
              )}
              <Table
                label="Crons"
                columns={buildColumns(assistants.data ?? [], firings.data)}
                rows={rows}
                rowKey={({ cron_id }) => cron_id}
                onOpen={({ cron_id }) => navigate(`/console/crons/${cron_id}`)}
              />
              {crons.hasNextPage && (
                <div>
                  <Button disabled={crons.isFetchingNextPage} onClick={() => void crons.fetchNextPage()}>
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

function buildColumns(assistants: Assistant[], firings: Map<string, Firing[]> | undefined): Column<Cron>[] {
  const of = ({ cron_id }: Cron) => firings?.get(cron_id) ?? [];
  return [
    {
      id: "schedule",
      name: "Schedule",
      width: 144,
      kept: true,
      cell: ({ cron_id, schedule }) => (
        <Link href={`/console/crons/${cron_id}`} className={work.mono} title={schedule}>
          {schedule}
        </Link>
      ),
    },
    {
      id: "assistant",
      name: "Assistant",
      width: 88,
      kept: true,
      grows: true,
      cell: ({ assistant_id }) => {
        const name = assistants.find((one) => one.assistant_id === assistant_id)?.name;
        return <span title={name ?? assistant_id}>{name ?? assistant_id.slice(0, 8)}</span>;
      },
    },
    { id: "next", name: "Next", width: 100, kept: true, cell: (cron) => <Next cron={cron} /> },
    {
      id: "last",
      name: "Last run",
      width: 104,
      fact: true,
      cell: (cron) => {
        const [last] = of(cron);
        return last && <State {...FIRING_STATES[last.state]} />;
      },
    },
    {
      id: "at",
      name: "Last due",
      width: 80,
      cell: (cron) => {
        const [last] = of(cron);
        return last && <Time at={last.due} />;
      },
    },
    { id: "latest", name: "Failures", width: 128, cell: (cron) => <Latest firings={of(cron)} /> },
    { id: "zone", name: "Time zone", width: 128, cell: ({ timezone }) => timezone ?? "UTC" },
  ];
}

/** When a cron fires next, or why it does not. */
export function Next({ cron }: { cron: Cron }) {
  const how = standing(cron);
  if (how !== "active" || cron.next_run_date === null) return how === "paused" ? "paused" : "ended";
  return (
    <time dateTime={cron.next_run_date} title={exactTime(cron.next_run_date)}>
      {untilText(cron.next_run_date)}
    </time>
  );
}

/** A tick for each of the last due times, the newest at the right, and how many of them failed. */
function Latest({ firings }: { firings: Firing[] }) {
  if (firings.length === 0) return <span className={work.faint}>not due yet</span>;
  const failed = firings.filter(isFailure).length;
  return (
    <span className={css.latest} title={`${failed} of the last ${firings.length} failed`}>
      <span className={css.ticks} aria-hidden>
        {firings.toReversed().map((firing) => (
          <i
            key={firing.due}
            data-look={isFailure(firing) ? "failed" : firing.state === "ended" ? "ended" : "open"}
            title={exactTime(firing.due)}
          />
        ))}
      </span>
      {failed} of {firings.length}
    </span>
  );
}
