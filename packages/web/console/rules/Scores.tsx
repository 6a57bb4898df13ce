/** The last scores that a rule gave, with the runs that they are of. */
import { Loaded } from "../../resources/states.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";
import { Section } from "../../resources/Section.tsx";
import work from "../../resources/work.module.css";
import { useNamedRuns, useScores } from "./queries.ts";
import { RunLink } from "./RunLink.tsx";
import type { NamedRun, Rule, Score } from "./types.ts";
import { scoreText } from "../../ui/format.ts";

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
              columns={makeColumns(rule.session_id, runs.data)}
              rows={rows}
              rowKey={({ id }) => id}
            />
          )
        }
      </Loaded>
    </Section>
  );
}

const makeColumns = (project: string, runs: Map<string, NamedRun> | undefined): Column<Score>[] => [
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
