/** Items that need attention. Each list is loaded separately, so that an error in one does not affect the others. */
import type { ReactNode } from "react";
import { Link } from "wouter";
import { ApiError } from "../../api/http.ts";
import type { ThreadRow } from "../../api/types.ts";
import { threadTip, threadTitle } from "../../chat/thread-row.ts";
import type { Range } from "../../resources/range.ts";
import { State } from "../../resources/State.tsx";
import { Loaded } from "../../resources/states.tsx";
import { Time } from "../../ui/Time.tsx";
import { countText } from "../../ui/format.ts";
import css from "./overview.module.css";
import { type Export, useExports, useFailed, useRunning, useWaiting } from "./queries.ts";

export function Waiting() {
  const threads = useWaiting();
  return (
    <Section title="Waiting for a person" count={threads.data?.count}>
      <Loaded query={threads} what="waiting threads" rows={2}>
        {({ rows }) => <Threads rows={rows} none="No threads are waiting for an answer." />}
      </Loaded>
    </Section>
  );
}

export function Running() {
  const threads = useRunning();
  return (
    <Section title="Running now" count={threads.data?.count}>
      <Loaded query={threads} what="running threads" rows={2}>
        {({ rows }) => <Threads rows={rows} none="No threads are running." />}
      </Loaded>
    </Section>
  );
}

export function Failed({ range }: { range: Range }) {
  const traces = useFailed(range);
  return (
    <Section title="Recent failures">
      <Loaded query={traces} what="failed traces" rows={2}>
        {(rows) =>
          rows.length === 0 ? (
            <p className={css.none}>No traces failed in this time range.</p>
          ) : (
            <ul className={css.rows}>
              {rows.map(({ latest, message, count, isCut }) => (
                <li key={latest.trace_id}>
                  <Link href={`/traces/${latest.trace_id}`} className={css.row}>
                    <State state="error" word={latest.name} />
                    <span className={css.error} title={latest.error ?? ""}>
                      {message}
                    </span>
                    {count > 1 && (
                      <span className={css.times}>{`${countText(count)}${isCut ? "+" : ""} times, last`}</span>
                    )}
                    <Time at={latest.start_time} />
                  </Link>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Section>
  );
}

export function Exports() {
  const exports = useExports();
  // A key without the scope sees no exports: that is no failure of the page.
  if (exports.error instanceof ApiError && exports.error.status === 403) return null;
  return (
    <Section title="Exports">
      <Loaded query={exports} what="exports" rows={2}>
        {(rows) => <Health rows={rows} />}
      </Loaded>
    </Section>
  );
}

const ENDED_BADLY = new Set(["FAILED", "TIMEDOUT", "TIMED_OUT"]);
const OPEN = new Set(["CREATED", "RUNNING", "PENDING"]);

function Health({ rows }: { rows: Export[] }) {
  if (rows.length === 0)
    return (
      <p className={css.none}>
        No exports yet. Exports copy traces to your bucket as Parquet files.{" "}
        <Link href="/console/exports">Set one up</Link>
      </p>
    );
  const schedules = rows.filter(({ interval_hours }) => interval_hours !== null);
  const failed = rows.filter(({ status }) => ENDED_BADLY.has(status));
  const open = rows.filter(({ status, interval_hours }) => interval_hours === null && OPEN.has(status));
  const last = rows.find(({ status }) => status === "COMPLETED");
  const counts = Object.entries({ scheduled: schedules, running: open, failed }).flatMap(([word, { length }]) =>
    length > 0 ? [`${countText(length)} ${word}`] : [],
  );
  return (
    <>
      <p className={css.none}>
        {counts.join(" · ")}
        {last?.finished_at && (
          <>
            {counts.length > 0 && " · "}last completed <Time at={last.finished_at} />
          </>
        )}
      </p>
      {failed.length > 0 && (
        <ul className={css.rows}>
          {failed.slice(0, 3).map((row) => (
            <li key={row.id}>
              <Link href={`/console/exports/${row.id}`} className={css.row}>
                <State state="error" word="Export" />
                <span className={css.error} title={row.error ?? ""}>
                  {row.error ?? row.status.toLowerCase()}
                </span>
                <Time at={row.created_at} />
              </Link>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function Section({ title, count, children }: { title: string; count?: number | undefined; children: ReactNode }) {
  return (
    <section className={css.section} aria-label={title}>
      <h2>
        {title}
        {count !== undefined && count > 0 && <span className={css.count}>{count > 99 ? "99+" : countText(count)}</span>}
      </h2>
      {children}
    </section>
  );
}

function Threads({ rows, none }: { rows: ThreadRow[]; none: string }) {
  if (rows.length === 0) return <p className={css.none}>{none}</p>;
  return (
    <ul className={css.rows}>
      {rows.map((row) => (
        <li key={row.thread_id}>
          <Link href={`/chat/${row.thread_id}`} className={css.row} title={threadTip(threadTitle(row), row.thread_id)}>
            <State state={row.status} word={threadTitle(row)} />
            <Time at={row.updated_at} />
          </Link>
        </li>
      ))}
    </ul>
  );
}
