/** The runs that wait for a rule, those due first. */
import { State } from "../../resources/State.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { Ahead } from "../../ui/Time.tsx";
import { Section } from "../../resources/Section.tsx";
import work from "../../resources/work.module.css";
import { SHOWN, useNamedRuns, useWaiting } from "./queries.ts";
import { RunLink } from "./RunLink.tsx";
import type { NamedRun, Rule, WaitingRun } from "./types.ts";
import { actionText } from "./labels.ts";

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
        columns={makeColumns(rule.session_id, runs.data)}
        rows={rows}
        rowKey={({ run_id }) => run_id}
      />
      {rows.length === SHOWN && <p className={work.note}>These are the first {SHOWN}.</p>}
    </Section>
  );
}

const makeColumns = (project: string, runs: Map<string, NamedRun> | undefined): Column<WaitingRun>[] => [
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
