/** The chosen run: how it went, what it was given, what it gave, and what is noted about it. */
import { useState, useMemo } from "react";
import { Link } from "wouter";
import { Failed, Loading, Empty, Loaded, Command } from "../../resources/states.tsx";
import { CopyButton } from "../../ui/Button.tsx";
import { Payload } from "../../ui/Payload.tsx";
import { exactTime } from "../../ui/time.ts";
import { RunActions } from "./RunActions.tsx";
import { costText, countText, durationText, tokensText, scoreText } from "../../ui/format.ts";
import { useRawRun, useRun, useThreadHere } from "../queries.ts";
import { Status } from "./TreeRow.tsx";
import css from "./details.module.css";
import type { RunDetails, Span } from "../types.ts";
import { Value } from "./Value.tsx";
import { useQuery } from "@tanstack/react-query";
import { call } from "../../api/http.ts";
import type { ThreadState } from "../../api/types.ts";
import { formatCurl } from "../../api/server.ts";
import type { StoredFeedback } from "../../../../src/traces/types.ts";

const ERROR_LINES = 8;

type Tab = "All" | "Error" | "Input" | "Output" | "State" | "Feedback" | "Raw";

export function Details({ run }: { run: Span }) {
  const details = useRun(run);
  const { data } = details;
  const thread = useThreadHere(data?.thread_id);
  const [tab, setTab] = useState<Tab>("All");
  const tabs: Tab[] = [
    "All",
    ...(data?.error ? (["Error"] as const) : []),
    "Input",
    "Output",
    "State",
    "Feedback",
    "Raw",
  ];
  return (
    // A box that scrolls must be reachable by keyboard.
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
        {data && <RunMetrics data={data} />}
        {data?.thread_id && thread.data && <Link href={`/chat/${data.thread_id}`}>Open thread</Link>}
      </p>
      <RunActions run={run} data={data} />
      <div className={css.tabs} role="group" aria-label="Show of the run">
        {tabs.map((one) => (
          <button key={one} type="button" aria-pressed={one === tab} onClick={() => setTab(one)}>
            {one}
          </button>
        ))}
      </div>
      {details.isPending && <Loading />}
      {details.error && !data && (
        <Failed title="The run did not load." error={details.error} onRetry={() => void details.refetch()} />
      )}
      {data && <Shown tab={tab} data={data} run={run} />}
    </section>
  );
}

function Shown({ tab, data, run }: { tab: Tab; data: RunDetails; run: Span }) {
  const is = (...tabs: Tab[]) => tabs.includes(tab);
  return (
    <>
      {data.error && is("All", "Error") && (
        <div className={css.error}>
          <Payload label="Error" text={data.error} lines={is("Error") ? 200 : ERROR_LINES} />
        </div>
      )}
      {is("All", "Input") && <Value label="Input" value={data.inputs} />}
      {is("All", "Output") &&
        (data.outputs === null ? (
          <p className={css.note}>{run.latency_seconds === null ? "No output yet." : "No output."}</p>
        ) : (
          <Value label="Output" value={data.outputs} />
        ))}
      {is("All") && <Noted data={data} />}
      {is("State") && <State data={data} />}
      {is("Feedback") && <Feedback run={run} />}
      {is("Raw") && <Raw run={run} />}
    </>
  );
}

function Raw({ run }: { run: Span }) {
  const { data, error, refetch } = useRawRun(run);
  if (error) return <Failed title="The run did not load." error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  return <Payload label="Run as JSON" text={JSON.stringify(data, null, 2)} lines={200} />;
}

function RunMetrics({ data }: { data: RunDetails }) {
  const { prompt_tokens, completion_tokens, total_tokens, total_cost, first_token_time, start_time } = data;
  const model = data.extra.metadata?.ls_model_name;
  return (
    <>
      {typeof model === "string" && <span>{model}</span>}
      {total_tokens > 0 && (
        <span>
          {tokensText(total_tokens)}: {countText(prompt_tokens)} in, {countText(completion_tokens)} out
        </span>
      )}
      {total_cost !== null && Number(total_cost) > 0 && <span>{costText(total_cost)}</span>}
      {first_token_time && (
        <span>first token after {durationText((Date.parse(first_token_time) - Date.parse(start_time)) / 1000)}</span>
      )}
    </>
  );
}

/** The state of the thread after the run that this trace is of. */
function State({ data }: { data: RunDetails }) {
  const thread = useThreadHere(data.thread_id);
  const runId = data.extra.metadata?.run_id;
  const state = useQuery({
    queryKey: ["state-of-run", data.thread_id, runId],
    enabled: thread.data === true && typeof runId === "string",
    queryFn: async ({ signal }) => {
      const body = { limit: 1, metadata: { run_id: runId } };
      return (await call<ThreadState[]>("POST", `/threads/${data.thread_id}/history`, body, signal))[0] ?? null;
    },
  });
  if (thread.data === false || data.thread_id === null || typeof runId !== "string")
    return (
      <Empty
        title="This run has no state here."
        text="Runs of this server's graphs on a thread have one: their last checkpoint."
      />
    );
  return (
    <Loaded query={state} what="state">
      {(found) =>
        found === null ? (
          <Empty
            title="This run wrote no checkpoint."
            text="It failed before its first step, or its thread was pruned."
          />
        ) : (
          <Payload label="State after the run" text={JSON.stringify(found.values, null, 2)} lines={200} />
        )
      }
    </Loaded>
  );
}

/** The tags and the metadata of a run: what a person set, and below it, folded, what LangGraph and the server add to each run. */
function Noted({ data: { extra, tags } }: { data: RunDetails }) {
  const { own, platform } = useMemo(() => splitMetadata(extra.metadata ?? {}), [extra.metadata]);
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
      {own.length + platform.length > 0 && (
        <section aria-label="Metadata">
          {own.length > 0 && (
            <>
              <h3>Metadata</h3>
              <Entries entries={own} />
            </>
          )}
          {platform.length > 0 && (
            <details className={css.platform}>
              <summary>Metadata of the platform ({platform.length})</summary>
              <Entries entries={platform} />
            </details>
          )}
        </section>
      )}
    </>
  );
}

const Entries = ({ entries }: { entries: [key: string, text: string][] }) => (
  <dl className={css.noted}>
    {entries.map(([key, text]) => (
      <div key={key}>
        <dt>{key}</dt>
        <dd>{text}</dd>
      </div>
    ))}
  </dl>
);

// The metadata of a run, apart by who sets it.

/** Longer values are clipped; the API has them whole. */
const CLIP = 500;

/** Metadata that LangSmith's SDKs, LangChain and LangGraph add, and those that the server adds to each run (`mergeMetadata`). */
const PLATFORM =
  /^((ls|lc|langgraph|__pregel|LANGSMITH|LANGCHAIN)_.*|(assistant|checkpoint|cron|graph|revision|run|thread)_id|checkpoint_(map|ns)|created_by|run_attempt)$/;

type Entry = [key: string, text: string];

/** The entries as texts: those that a person or a program set, and those of the platform. */
function splitMetadata(metadata: Record<string, unknown>): { own: Entry[]; platform: Entry[] } {
  const own: Entry[] = [];
  const platform: Entry[] = [];
  for (const [key, value] of Object.entries(metadata)) {
    const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
    const shown: Entry = [key, text.length > CLIP ? `${text.slice(0, CLIP)}…` : text];
    (PLATFORM.test(key) ? platform : own).push(shown);
  }
  return { own, platform };
}

/** The feedback on a run. */
function Feedback({ run }: { run: Span }) {
  const feedback = useQuery({
    queryKey: ["feedback", run.id],
    queryFn: ({ signal }) => call<StoredFeedback[]>("GET", `/api/v1/feedback?run=${run.id}`, undefined, signal),
  });
  const command = formatCurl("/api/v1/feedback", `{"run_id": "${run.id}", "key": "correct", "score": 1}`);
  return (
    <Loaded query={feedback} what="feedback" rows={3}>
      {(given) =>
        given.length === 0 ? (
          <Empty
            title="No feedback on this run."
            text="Send it with the API, or create a feedback link, which needs no key:"
            command={command}
          />
        ) : (
          <>
            <dl className={css.noted}>
              {given.map(({ id, key, score, value, comment, created_at }) => (
                <div key={id}>
                  <dt>{key}</dt>
                  <dd>
                    {score !== null && <strong>{scoreText(score)}</strong>}
                    {value ? <p className="text">{typeof value === "string" ? value : JSON.stringify(value)}</p> : ""}
                    {comment !== null && <p className="text">{comment}</p>}
                    <time className={css.when} dateTime={created_at}>
                      {exactTime(created_at)}
                    </time>
                  </dd>
                </div>
              ))}
            </dl>
            <section>
              <h3>Send feedback with the API</h3>
              <Command text={command} label="Copy the request" />
            </section>
          </>
        )
      }
    </Loaded>
  );
}
