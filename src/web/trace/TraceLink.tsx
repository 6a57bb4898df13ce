import { Link } from "wouter";
import { exactTime, shortTime } from "../ui/time.ts";
import { costText, durationText, firstLine, tokensText } from "./format.ts";
import css from "./list.module.css";
import { Status } from "./Status.tsx";
import type { TraceRow } from "./types.ts";

/** One trace of the list: what it was, how it went, and what it took. */
export function TraceLink({ trace, project }: { trace: TraceRow; project: string | undefined }) {
  const { start_time, end_time, total_cost, error } = trace;
  const seconds = end_time === null ? undefined : (Date.parse(end_time) - Date.parse(start_time)) / 1000;
  return (
    <li>
      <Link className={css.link} href={`/traces/${trace.trace_id}?project=${project}`}>
        <span className={css.name}>
          <Status status={trace.status} />
          <span>{trace.name}</span>
        </span>
        <span className={css.input}>{firstLine(trace.inputs_preview ?? "")}</span>
        <span className={css.figures}>
          <span>{trace.total_tokens > 0 && tokensText(trace.total_tokens)}</span>
          <span>{total_cost !== null && Number(total_cost) > 0 && costText(total_cost)}</span>
          <span>{seconds === undefined ? "running" : durationText(seconds)}</span>
          <time dateTime={start_time} title={exactTime(start_time)}>
            {shortTime(start_time)}
          </time>
        </span>
        {error && <span className={css.error}>{firstLine(error)}</span>}
      </Link>
    </li>
  );
}
