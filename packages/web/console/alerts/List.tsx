import { Link, useLocation } from "wouter";
import { formatCurl } from "../../api/server.ts";
import { useMay } from "../../api/me.ts";
import { type Project, useProjects } from "../../api/queries.ts";
import { Page } from "../../resources/Page.tsx";
import { State } from "../../resources/State.tsx";
import { Command, Empty, Loaded } from "../../resources/states.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";
import controls from "../../ui/controls.module.css";
import { Examples } from "../../resources/Examples.tsx";
import work from "../../resources/work.module.css";
import { EXAMPLES } from "./draft.ts";
import { type Alert, useAlerts } from "./queries.ts";
import { CHANNELS, conditionText, figureText, standing, windowText } from "./labels.ts";

const CREATE = formatCurl(
  "/api/v1/alerts",
  `{
    "name": "Many runs fail",
    "session_id": "<id of the project>",
    "filter": "eq(is_root, true)",
    "metric": "error_rate",
    "threshold": 0.05,
    "window_minutes": 10,
    "channels": [{"type": "webhook", "url": "https://example.com/hook"}]
  }`,
);

export function List() {
  const may = useMay();
  const alerts = useAlerts();
  const projects = useProjects();
  const [, navigate] = useLocation();
  return (
    <Page
      title="Alerts"
      purpose="Notifications when a figure of runs passes a threshold."
      actions={
        may("traces.write") && (
          <Link href="/console/alerts/new" className={`${controls.button} ${controls.filled}`}>
            New alert
          </Link>
        )
      }
      aside={
        alerts.data !== undefined &&
        alerts.data.length > 0 && (
          <>
            <h2>Create an alert with the API</h2>
            <Command text={CREATE} />
            <p>
              Alerts are evaluated once a minute: <a href="/docs/alerts">Alerts</a>
            </p>
          </>
        )
      }
    >
      <Loaded query={alerts} what="alerts">
        {(rows) =>
          rows.length === 0 ? (
            <Empty
              title="No alerts yet."
              text="An alert watches a figure of a project’s runs. It notifies its channels when the figure passes a threshold, and when it is within the threshold again."
              {...(!may("traces.write") && { command: CREATE })}
            >
              {may("traces.write") && <Examples path="/console/alerts/new" examples={EXAMPLES} />}
            </Empty>
          ) : (
            <Table
              label="Alerts"
              columns={makeColumns(projects.data ?? [])}
              rows={rows}
              rowKey={({ id }) => id}
              onOpen={({ id }) => navigate(`/console/alerts/${id}`)}
            />
          )
        }
      </Loaded>
    </Page>
  );
}

const makeColumns = (projects: Project[]): Column<Alert>[] => [
  { id: "state", name: "State", width: 116, kept: true, cell: (alert) => <State {...standing(alert)} /> },
  {
    id: "name",
    name: "Name",
    width: 120,
    kept: true,
    grows: true,
    cell: ({ id, name }) => (
      <Link href={`/console/alerts/${id}`} className={work.open} title={name}>
        {name}
      </Link>
    ),
  },
  {
    id: "value",
    name: "Now",
    width: 80,
    end: true,
    kept: true,
    cell: ({ metric, value }) => figureText(metric, value),
  },
  {
    id: "condition",
    name: "Fires at",
    width: 190,
    fact: true,
    cell: (alert) => <span title={conditionText(alert)}>{conditionText(alert)}</span>,
  },
  { id: "since", name: "Since", width: 88, end: true, cell: ({ state_since }) => <Time at={state_since} /> },
  { id: "window", name: "Window", width: 72, end: true, cell: ({ window_minutes }) => windowText(window_minutes) },
  {
    id: "project",
    name: "Project",
    width: 120,
    cell: ({ session_id }) => projects.find(({ id }) => id === session_id)?.name ?? session_id.slice(0, 8),
  },
  {
    id: "channels",
    name: "Channels",
    width: 120,
    cell: ({ channels }) => channels.map(({ type }) => CHANNELS[type]).join(", "),
  },
];
