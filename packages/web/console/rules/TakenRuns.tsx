/** The runs on which a rule has failed, newest first. */
import { useState } from "react";
import { State } from "../../resources/State.tsx";
import { Loaded } from "../../resources/states.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { Time, Ahead } from "../../ui/Time.tsx";
import { firstLine, scoreText } from "../../ui/format.ts";
import { Modal } from "../../ui/Modal.tsx";
import { Payload } from "../../ui/Payload.tsx";
import { Fields, Section } from "../../resources/Fields.tsx";
import work from "../../resources/work.module.css";
import { SHOWN, useFailures, useNamedRuns, useScores, useWaiting } from "./queries.ts";
import css from "./rules.module.css";
import type { Failure, NamedRun, Rule, Score, WaitingRun } from "./types.ts";
import { actionText } from "./labels.ts";
import { Link } from "wouter";

export function Failures({ rule }: { rule: Rule }) {
  const failures = useFailures(rule);
  const rows = failures.data ?? [];
  const runs = useNamedRuns(
    rule.session_id,
    rows.flatMap(({ run_id }) => run_id ?? []),
  );
  const [open, setOpen] = useState<Failure>();
  return (
    <Section title="Failures">
      <Loaded query={failures} what="failures" rows={2}>
        {(rows) =>
          rows.length === 0 ? (
            <p className={work.none}>No run has failed in the last 30 days.</p>
          ) : (
            <>
              <Table
                label="Failures"
                columns={makeColumns(rule.session_id, runs.data, setOpen)}
                rows={rows}
                rowKey={({ run_id }) => run_id ?? "all"}
                onOpen={setOpen}
              />
              {rows.length === SHOWN && <p className={work.note}>These are the last {SHOWN}.</p>}
            </>
          )
        }
      </Loaded>
      {open && (
        <Modal title="Failure" onClose={() => setOpen(undefined)}>
          <Fields
            fields={{
              Run: <FailedRun id={open.run_id} project={rule.session_id} runs={runs.data} />,
              Action: actionText(open.action),
              Time: <Time at={open.time} exact />,
              "Tried again": open.will_retry ? "yes" : "no: it is given up",
            }}
          />
          <Payload label="Error" text={open.error} />
        </Modal>
      )}
    </Section>
  );
}

const makeColumns = (
  project: string,
  runs: Map<string, NamedRun> | undefined,
  onOpen: (failure: Failure) => void,
): Column<Failure>[] => [
  {
    id: "state",
    name: "Status",
    width: 104,
    cell: ({ will_retry }) => (
      <State {...(will_retry ? { state: "pending", word: "tries again" } : { state: "error", word: "given up" })} />
    ),
  },
  {
    id: "error",
    name: "Error",
    width: 140,
    kept: true,
    grows: true,
    cell: (failure) => (
      <button type="button" className={css.error} title={failure.error} onClick={() => onOpen(failure)}>
        {firstLine(failure.error)}
      </button>
    ),
  },
  {
    id: "run",
    name: "Run",
    width: 110,
    kept: true,
    cell: ({ run_id }) => <FailedRun id={run_id} project={project} runs={runs} />,
  },
  { id: "action", name: "Action", width: 110, cell: ({ action }) => actionText(action) },
  { id: "time", name: "Time", width: 88, end: true, cell: ({ time }) => <Time at={time} /> },
];

/** The last scores that a rule gave, with the runs that they are of. */
export function Scores({ rule }: { rule: Rule }) {
  const scores = useScores(rule);
  const rows = scores.data ?? [];
  const runs = useNamedRuns(rule.session_id, [...new Set(rows.map(({ run_id }) => run_id))]);
  return (
    <Section title="Scores">
      <Loaded query={scores} what="scores" rows={4}>
        {(rows) =>
          rows.length === 0 ? (
            <p className={work.none}>
              {rule.stats.taken === 0
                ? "It has taken no run yet. Its work begins within about a minute of a run’s end."
                : rule.stats.done === 0
                  ? "It has scored no run yet."
                  : "None of the project’s last 100 scores by rules is of this one."}
            </p>
          ) : (
            <Table
              label="Scores"
              columns={makeScoreColumns(rule.session_id, runs.data)}
              rows={rows}
              rowKey={({ id }) => id}
            />
          )
        }
      </Loaded>
    </Section>
  );
}

const makeScoreColumns = (project: string, runs: Map<string, NamedRun> | undefined): Column<Score>[] => [
  { id: "key", name: "Key", width: 110, kept: true, cell: ({ key }) => <span title={key}>{key}</span> },
  {
    id: "score",
    name: "Score",
    width: 72,
    kept: true,
    end: true,
    cell: ({ score, value }) => (score === null ? JSON.stringify(value) : scoreText(score)),
  },
  {
    id: "run",
    name: "Run",
    width: 110,
    kept: true,
    cell: ({ run_id }) => <RunLink id={run_id} project={project} run={runs?.get(run_id)} />,
  },
  {
    id: "comment",
    name: "Comment",
    width: 140,
    grows: true,
    cell: ({ comment }) => comment !== null && <span title={comment}>{comment}</span>,
  },
  { id: "time", name: "Time", width: 88, end: true, cell: ({ created_at }) => <Time at={created_at} /> },
];

/** The runs that wait for a rule, those due first. */
export function Waiting({ rule }: { rule: Rule }) {
  const rows = useWaiting(rule).data ?? [];
  const runs = useNamedRuns(
    rule.session_id,
    rows.map(({ run_id }) => run_id),
  );
  if (rule.stats.waiting === 0 || rows.length === 0) return null;
  return (
    <Section title="Waiting">
      <Table
        label="Waiting"
        columns={makeWaitingColumns(rule.session_id, runs.data)}
        rows={rows}
        rowKey={({ run_id }) => run_id}
      />
      {rows.length === SHOWN && <p className={work.note}>These are the first {SHOWN}.</p>}
    </Section>
  );
}

const makeWaitingColumns = (project: string, runs: Map<string, NamedRun> | undefined): Column<WaitingRun>[] => [
  {
    id: "state",
    name: "Status",
    width: 104,
    cell: ({ will_retry }) => <State state="pending" word={will_retry ? "tries again" : "waits"} />,
  },
  {
    id: "run",
    name: "Run",
    width: 110,
    kept: true,
    grows: true,
    cell: ({ run_id }) => <RunLink id={run_id} project={project} run={runs?.get(run_id)} />,
  },
  { id: "action", name: "Action", width: 110, cell: ({ action }) => action && actionText(action) },
  { id: "time", name: "At the latest", width: 110, end: true, cell: ({ time }) => <Ahead at={time} /> },
];

/** The run of a failure, unless the rule can take none. */
function FailedRun({
  id,
  project,
  runs,
}: {
  id: string | null;
  project: string;
  runs: Map<string, NamedRun> | undefined;
}) {
  return id === null ? "all" : <RunLink id={id} project={project} run={runs?.get(id)} />;
}

/** The run of a score or a failure, as a link to its place in its trace. */
function RunLink({ id, project, run }: { id: string; project: string; run: NamedRun | undefined }) {
  const query = new URLSearchParams({ project, ...(run && run.trace_id !== id && { run: id }) });
  return <Link href={`/traces/${run?.trace_id ?? id}?${query}`}>{run?.name ?? id.slice(0, 8)}</Link>;
}
