import { bytesText, countText, durationText, quantityText } from "../../ui/format.ts";
import { clockTime } from "../../ui/time.ts";
import css from "../../resources/parts.module.css";
import { State } from "../../resources/State.tsx";
import { Progress } from "./columns.tsx";
import { measurePace, jobStatus } from "./days.ts";
import own from "./exports.module.css";
import { isOpen, type Job, type Run } from "./types.ts";

/** How far an export is, and how fast. */
export function Totals({ job, runs }: { job: Job; runs: Run[] }) {
  const { rows_written, bytes_written, files_written } = job.progress;
  const open = isOpen(job);
  const pace = open ? measurePace(job, runs, Date.now()) : undefined;
  const took = job.finished_at === null ? undefined : (Date.parse(job.finished_at) - Date.parse(job.created_at)) / 1000;
  return (
    <div className={own.totals}>
      <dl>
        <div>
          <dt>Status</dt>
          <dd>
            <State {...jobStatus(job)} />
          </dd>
        </div>
        <div>
          <dt>Days done</dt>
          <dd>
            <Progress job={job} />
          </dd>
        </div>
        <div>
          <dt>Rows</dt>
          <dd>{countText(rows_written)}</dd>
        </div>
        <div>
          <dt>Size</dt>
          <dd>
            {bytesText(bytes_written)} <small>{quantityText(files_written, "file")}</small>
          </dd>
        </div>
        <div>
          <dt>{open ? "Rows a second" : "Took"}</dt>
          <dd>
            {open
              ? pace?.rowsPerSecond === undefined
                ? "–"
                : countText(Math.round(pace.rowsPerSecond))
              : took === undefined
                ? "–"
                : durationText(took)}
            {pace?.left !== undefined && <small> about {durationText(pace.left)} left</small>}
          </dd>
        </div>
      </dl>
      {pace?.stillSince !== undefined && (
        <p className={css.note}>
          No progress since {clockTime(pace.stillSince)}. The export is retried within four minutes.
        </p>
      )}
    </div>
  );
}
