import { Facts } from "../../resources/Fields.tsx";
import css from "../../resources/parts.module.css";
import { State } from "../../resources/State.tsx";
import { Time } from "../../ui/Time.tsx";
import { runStatus } from "./days.ts";
import { dayText } from "../../ui/days.ts";
import own from "./exports.module.css";
import type { Run } from "./types.ts";
import { bytesText, countText } from "../../ui/format.ts";

/** One project and day of an export: what was written, and what went wrong. */
export function DayDetails({ run, name }: { run: Run; name: string }) {
  const { start_time, errors, retry_number, metadata, finished_at, updated_at, late } = run;
  const { prefix, result } = metadata;
  const files = result?.exported_files ?? [];
  return (
    <section className={own.day} aria-label={`Day ${dayText(start_time)}`} aria-live="polite">
      <h3>
        {dayText(start_time)}, {name}
      </h3>
      <Facts
        facts={{
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
