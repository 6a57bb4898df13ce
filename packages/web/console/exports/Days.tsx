/** The days of an export, one cell for each project and day. Arrow keys go from cell to cell. */
import { useState } from "react";
import { Button } from "../../ui/Button.tsx";
import css from "../../resources/parts.module.css";
import { State } from "../../resources/State.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { Cells, move } from "./Cells.tsx";
import { DayDetails } from "./DayDetails.tsx";
import { groupRuns, isEmpty, runStatus } from "./days.ts";
import { dayText } from "../../ui/days.ts";
import own from "./exports.module.css";
import { isOpen, type Job, type Run } from "./types.ts";
import { bytesText, countText } from "../../ui/format.ts";

export function Days({
  runs,
  job,
  nameProject,
  more,
}: {
  runs: Run[];
  job: Job;
  nameProject: (projectId: string) => string;
  /** Loads further days, if there are any. */
  more: (() => void) | undefined;
}) {
  const [chosen, choose] = useState<string>();
  const [table, setTable] = useState(false);
  const groups = groupRuns(runs);
  const open = runs.find(({ id }) => id === chosen);
  const single = new Set(runs.map(({ session_id }) => session_id)).size <= 1;
  if (runs.length === 0)
    return (
      <p className={css.note}>
        {!isOpen(job)
          ? "The export ended before its days were planned."
          : job.interval_hours === null
            ? "The days are being planned."
            : "The schedule has made no export yet. The first export starts 10 minutes after the first day ends (UTC)."}
      </p>
    );
  return (
    <>
      <div className={own.legend}>
        <Legend runs={runs} />
        <Button look="quiet" aria-pressed={table} onClick={() => setTable(!table)}>
          {table ? "Show grid" : "Show as table"}
        </Button>
      </div>
      {table ? (
        <Table
          label="Days"
          columns={buildColumns(nameProject, single)}
          rows={runs}
          rowKey={({ id }) => id}
          openKey={chosen}
          onOpen={({ id }) => choose(id)}
        />
      ) : (
        <div className={own.groups} role="group" aria-label="Days" onKeyDown={move}>
          {groups.map((group) => (
            <Cells
              key={group.key}
              group={group}
              name={single && !group.late ? undefined : nameProject(group.project) + (group.late ? ", late runs" : "")}
              chosen={chosen ?? runs[0]?.id}
              open={open?.id}
              onChoose={choose}
            />
          ))}
        </div>
      )}
      {more && (
        <div>
          <Button onClick={more}>Show more days</Button>
        </div>
      )}
      {open && <DayDetails run={open} name={nameProject(open.session_id)} />}
    </>
  );
}

const LEGEND = ["CREATED", "RUNNING", "COMPLETED", "FAILED", "CANCELLED", "TIMEDOUT"] as const;

/** The states that the days are in, with how many are in each. */
function Legend({ runs }: { runs: Run[] }) {
  const retried = runs.filter(({ retry_number }) => retry_number > 0).length;
  const empty = runs.filter(isEmpty).length;
  return (
    <ul className={own.keys}>
      {LEGEND.map((status) => {
        const count = runs.filter((run) => run.status === status && !isEmpty(run)).length;
        return (
          count > 0 && (
            <li key={status}>
              <i className={own.cell} data-status={status} aria-hidden />
              {countText(count)} {runStatus({ status }).word}
            </li>
          )
        );
      })}
      {empty > 0 && (
        <li>
          <i className={own.cell} data-status="COMPLETED" data-empty aria-hidden />
          {countText(empty)} done, no runs
        </li>
      )}
      {retried > 0 && (
        <li>
          <i className={own.cell} data-status="CREATED" data-retried aria-hidden />
          {countText(retried)} retried
        </li>
      )}
    </ul>
  );
}

const buildColumns = (nameProject: (id: string) => string, single: boolean): Column<Run>[] => [
  {
    id: "day",
    name: "Day (UTC)",
    width: 110,
    kept: true,
    grows: single,
    cell: ({ start_time }) => dayText(start_time),
  },
  ...(single
    ? []
    : [
        {
          id: "project",
          name: "Project",
          width: 120,
          grows: true,
          cell: ({ session_id }: Run) => nameProject(session_id),
        },
      ]),
  { id: "status", name: "Status", width: 104, kept: true, cell: (run) => <State {...runStatus(run)} /> },
  {
    id: "rows",
    name: "Rows",
    width: 80,
    kept: true,
    end: true,
    cell: ({ metadata }) => metadata.result && countText(metadata.result.rows_written),
  },
  {
    id: "size",
    name: "Size",
    width: 80,
    end: true,
    cell: ({ metadata }) => metadata.result && bytesText(metadata.result.bytes_written),
  },
  { id: "attempts", name: "Attempts", width: 80, end: true, cell: ({ retry_number }) => retry_number + 1 },
];
