/** The days of an export, one cell for each project and day. Arrow keys go from cell to cell. */
import { useState, type KeyboardEvent } from "react";
import { Button } from "../../ui/Button.tsx";
import css from "../../resources/parts.module.css";
import { State } from "../../resources/State.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { groupRuns, isEmpty, runStatus, type Group, runText } from "./days.ts";
import { dayText, monthText } from "../../ui/days.ts";
import own from "./exports.module.css";
import { isOpen, type Job, type Run } from "./types.ts";
import { bytesText, countText } from "../../ui/format.ts";
import { Fields } from "../../resources/Fields.tsx";
import { Time } from "../../ui/Time.tsx";

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

/** The cells of one project, one for each day, by month. */
function Cells({
  group: { months },
  name,
  chosen,
  open,
  onChoose,
}: {
  group: Group;
  name: string | undefined;
  /** The cell that the tab key reaches. */
  chosen: string | undefined;
  open: string | undefined;
  onChoose: (id: string) => void;
}) {
  return (
    <div>
      {name !== undefined && <h3 className={own.project}>{name}</h3>}
      <div className={own.months}>
        {months.map(({ month, runs }) => (
          <div key={month} className={own.month}>
            <span>{monthText(month)}</span>
            <div>
              {runs.map((run) => (
                <button
                  key={run.id}
                  type="button"
                  className={own.cell}
                  data-cell
                  data-status={run.status}
                  data-retried={run.retry_number > 0 || undefined}
                  data-empty={isEmpty(run) || undefined}
                  aria-label={runText(run)}
                  aria-pressed={run.id === open}
                  title={runText(run)}
                  tabIndex={run.id === chosen ? 0 : -1}
                  onClick={() => onChoose(run.id)}
                >
                  {Number(run.start_time.slice(8, 10))}
                </button>
              ))}
            </div>
          </div>
        ))}
      </div>
    </div>
  );
}

/** Moves the focus between the cells: left and right in their order, up and down to the nearest of the next line. */
function move(event: KeyboardEvent<HTMLElement>): void {
  const cells = [...event.currentTarget.querySelectorAll<HTMLElement>("[data-cell]")];
  const at = cells.findIndex((cell) => cell === document.activeElement);
  const from = cells[at];
  if (!from) return;
  const vertical = (ahead: HTMLElement[]) => {
    const { left, top } = from.getBoundingClientRect();
    const places = ahead.map((cell) => ({ cell, rect: cell.getBoundingClientRect() }));
    const line = places.find(({ rect }) => rect.top !== top)?.rect.top;
    const distance = (rect: DOMRect) => Math.abs(rect.left - left);
    const nearest = places.filter(({ rect }) => rect.top === line);
    return nearest.sort((a, b) => distance(a.rect) - distance(b.rect))[0]?.cell;
  };
  const targets: Record<string, () => HTMLElement | undefined> = {
    ArrowRight: () => cells[at + 1],
    ArrowLeft: () => cells[at - 1],
    ArrowDown: () => vertical(cells.slice(at + 1)),
    ArrowUp: () => vertical(cells.slice(0, at).toReversed()),
    Home: () => cells[0],
    End: () => cells.at(-1),
  };
  const target = targets[event.key]?.();
  if (!target) return;
  event.preventDefault();
  target.focus();
}

/** One project and day of an export: what was written, and what went wrong. */
function DayDetails({ run, name }: { run: Run; name: string }) {
  const { start_time, errors, retry_number, metadata, finished_at, updated_at, late } = run;
  const { prefix, result } = metadata;
  const files = result?.exported_files ?? [];
  return (
    <section className={own.day} aria-label={`Day ${dayText(start_time)}`} aria-live="polite">
      <h3>
        {dayText(start_time)}, {name}
      </h3>
      <Fields
        fields={{
          Status: <State {...runStatus(run)} />,
          Holds: late ? "runs that came or changed after an earlier export" : undefined,
          Rows: result && countText(result.rows_written),
          Size: result && bytesText(result.bytes_written),
          Attempts: retry_number + 1,
          Errors: errors && (
            <ul className={css.failed}>
              {Object.entries(errors).map(([attempt, reason]) => (
                <li key={attempt}>
                  attempt {Number(attempt.replace("retry_", "")) + 1}: {reason}
                </li>
              ))}
            </ul>
          ),
          Folder: <span className={css.mono}>{prefix}</span>,
          Files: files.length > 0 && (
            <ul className={css.mono}>
              {files.slice(0, 20).map((file) => (
                <li key={file}>{file.split("/").at(-1)}</li>
              ))}
              {files.length > 20 && <li>and {files.length - 20} more</li>}
            </ul>
          ),
          [finished_at === null ? "Changed" : "Ended"]: <Time at={finished_at ?? updated_at} exact />,
        }}
      />
    </section>
  );
}
