import { Link, useLocation } from "wouter";
import { formatCurl } from "../../api/server.ts";
import { useMay } from "../../api/me.ts";
import { Page } from "../../resources/Page.tsx";
import { State } from "../../resources/State.tsx";
import { Command, Empty, Loaded } from "../../resources/states.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";
import controls from "../../ui/controls.module.css";
import { costText, countText, firstLine } from "../../ui/format.ts";
import { Examples } from "../../resources/Examples.tsx";
import parts from "../../resources/parts.module.css";
import work from "../../resources/work.module.css";
import { EXAMPLES } from "./draft.ts";
import { useLastFailures, useRules } from "./queries.ts";
import type { Failure, Rule } from "./types.ts";
import { listActions, samplingText } from "./labels.ts";

const CREATE = formatCurl(
  "/runs/rules",
  `{
    "display_name": "Length of answers",
    "session_id": "<id of the project>",
    "filter": "eq(is_root, true)",
    "sampling_rate": 1,
    "code_evaluators": [{"code": "answer-length"}]
  }`,
);

export function List() {
  const may = useMay();
  const rules = useRules();
  const failures = useLastFailures(rules.data ?? []);
  const [, navigate] = useLocation();
  return (
    <Page
      title="Rules"
      purpose="What is done with the runs of a project as they come: scored, reviewed, kept, sent on."
      actions={
        may("traces.write") && (
          <Link href="/console/rules/new" className={`${controls.button} ${controls.filled}`}>
            New rule
          </Link>
        )
      }
      aside={
        rules.data !== undefined &&
        rules.data.length > 0 && (
          <>
            <h2>Create a rule with the API</h2>
            <Command text={CREATE} />
            <p>
              A rule takes each run once. Its work begins within about a minute of the run’s end:{" "}
              <a href="/docs/rules">Rules on traced runs</a>
            </p>
          </>
        )
      }
    >
      <Loaded query={rules} what="rules">
        {(rows) =>
          rows.length === 0 ? (
            <Empty
              title="No rules yet."
              text="A rule chooses runs of a project by a filter and a sampling rate. It scores them, hands them to people, keeps them as examples, or sends them to another system."
              {...(!may("traces.write") && { command: CREATE })}
            >
              {may("traces.write") && <Examples path="/console/rules/new" examples={EXAMPLES} />}
            </Empty>
          ) : (
            <Table
              label="Rules"
              columns={makeColumns(failures)}
              rows={rows}
              rowKey={({ id }) => id}
              onOpen={({ id }) => navigate(`/console/rules/${id}`)}
            />
          )
        }
      </Loaded>
    </Page>
  );
}

function makeColumns(failures: Map<string, Failure>): Column<Rule>[] {
  return [
    {
      id: "state",
      name: "Status",
      width: 88,
      kept: true,
      cell: ({ is_enabled }) => (
        <State {...(is_enabled ? { state: "success", word: "active" } : { state: "idle", word: "paused" })} />
      ),
    },
    {
      id: "name",
      name: "Name",
      width: 140,
      kept: true,
      grows: true,
      cell: ({ id, display_name }) => (
        <Link href={`/console/rules/${id}`} className={work.open} title={display_name}>
          {display_name}
        </Link>
      ),
    },
    {
      id: "done",
      name: "Done",
      width: 64,
      end: true,
      kept: true,
      cell: ({ stats }) => countText(stats.done),
    },
    {
      id: "failed",
      name: "Failed",
      width: 64,
      end: true,
      cell: ({ stats }) => (
        <span className={stats.failed > 0 ? parts.failed : undefined}>{countText(stats.failed)}</span>
      ),
    },
    { id: "waiting", name: "Waiting", width: 72, end: true, cell: ({ stats }) => countText(stats.waiting) },
    { id: "cost", name: "Cost", width: 72, end: true, cell: ({ stats }) => costText(stats.cost) },
    { id: "actions", name: "Action", width: 110, cell: (rule) => listActions(rule) },
    { id: "project", name: "Project", width: 110, cell: ({ session_name }) => session_name },
    {
      id: "last",
      name: "Last failure",
      width: 160,
      cell: ({ id }) => {
        const last = failures.get(id);
        return (
          last && (
            <span title={last.error}>
              <Time at={last.time} /> <span className={work.faint}>{firstLine(last.error)}</span>
            </span>
          )
        );
      },
    },
    { id: "sampling", name: "Sampling", width: 76, end: true, cell: (rule) => samplingText(rule) },
    {
      id: "filter",
      name: "Filter",
      width: 160,
      cell: ({ filter }) => filter !== null && <code title={filter}>{filter}</code>,
    },
  ];
}
