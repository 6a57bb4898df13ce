/** The chosen run: how it went, what it was given, what it gave, and what is noted about it. */
import { useMemo } from "react";
import { Link } from "wouter";
import { LoadFailed } from "../chat/Empty.tsx";
import { CopyButton } from "../ui/CopyButton.tsx";
import { Payload } from "../ui/Payload.tsx";
import { exactTime } from "../ui/time.ts";
import { costText, durationText, tokensText } from "./format.ts";
import { useRun, useThreadHere } from "./queries.ts";
import { Status } from "./Status.tsx";
import css from "./details.module.css";
import type { RunDetails, Span } from "./types.ts";
import { Value } from "./Value.tsx";

const ERROR_LINES = 8;

export function Details({ run }: { run: Span }) {
  const details = useRun(run);
  const { data } = details;
  const thread = useThreadHere(data?.thread_id);
  return (
    // What scrolls must be reachable by keyboard.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <section className={css.details} aria-labelledby="run" tabIndex={0}>
      <header className={css.head}>
        <h2 id="run">
          <Status status={run.status} />
          {run.name}
        </h2>
        <CopyButton text={run.id} label="Copy run id" />
      </header>
      <p className={css.facts}>
        <span>{run.run_type.toLowerCase()}</span>
        <span>{run.latency_seconds === null ? "running" : durationText(run.latency_seconds)}</span>
        <time dateTime={run.start_time}>{exactTime(run.start_time)}</time>
        {data && <Figures data={data} />}
        {data?.thread_id && thread.data && <Link href={`/chat/${data.thread_id}`}>Its thread</Link>}
      </p>
      {details.isPending && (
        <p className={css.note} role="status">
          Loading…
        </p>
      )}
      {details.error && !data && (
        <LoadFailed
          title="The run did not load."
          error={details.error.message}
          onRetry={() => void details.refetch()}
        />
      )}
      {data && (
        <>
          {data.error && (
            <div className={css.error}>
              <Payload label="Error" text={data.error} lines={ERROR_LINES} />
            </div>
          )}
          <Value label="Input" value={data.inputs} />
          {data.outputs === null ? (
            <p className={css.note}>{run.latency_seconds === null ? "No output yet." : "No output."}</p>
          ) : (
            <Value label="Output" value={data.outputs} />
          )}
          <Noted data={data} />
        </>
      )}
    </section>
  );
}

function Figures({ data }: { data: RunDetails }) {
  const { prompt_tokens, completion_tokens, total_tokens, total_cost, first_token_time, start_time } = data;
  const model = data.extra.metadata?.ls_model_name;
  return (
    <>
      {typeof model === "string" && <span>{model}</span>}
      {total_tokens > 0 && (
        <span>
          {tokensText(total_tokens)}: {prompt_tokens.toLocaleString()} in, {completion_tokens.toLocaleString()} out
        </span>
      )}
      {total_cost !== null && Number(total_cost) > 0 && <span>{costText(total_cost)}</span>}
      {first_token_time && (
        <span>first token after {durationText((Date.parse(first_token_time) - Date.parse(start_time)) / 1000)}</span>
      )}
    </>
  );
}

/** Longer values of metadata are clipped; the API has them whole. */
const CLIP = 500;

function Noted({ data: { extra, tags } }: { data: RunDetails }) {
  const entries = useMemo(
    () =>
      Object.entries(extra.metadata ?? {}).map(([key, value]): [string, string] => {
        const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
        return [key, text.length > CLIP ? `${text.slice(0, CLIP)}…` : text];
      }),
    [extra.metadata],
  );
  return (
    <>
      {tags && tags.length > 0 && (
        <section aria-label="Tags">
          <h3>Tags</h3>
          <ul className={css.tags}>
            {tags.map((tag) => (
              <li key={tag}>{tag}</li>
            ))}
          </ul>
        </section>
      )}
      {entries.length > 0 && (
        <section aria-label="Metadata">
          <h3>Metadata</h3>
          <dl className={css.noted}>
            {entries.map(([key, text]) => (
              <div key={key}>
                <dt>{key}</dt>
                <dd>{text}</dd>
              </div>
            ))}
          </dl>
        </section>
      )}
    </>
  );
}
