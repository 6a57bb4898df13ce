/** Alerts on traced runs: the list, a new one, and one of them with its state, its channels and its history. */
import type { ReactNode } from "react";
import { Link } from "wouter";
import { type Project, useProjects } from "../../api/queries.ts";
import { formatCurl } from "../../api/server.ts";
import { defineEditableResource } from "../../resources/defineResource.tsx";
import { Field } from "../../resources/Fields.tsx";
import { State } from "../../resources/State.tsx";
import { Command } from "../../resources/states.tsx";
import work from "../../resources/work.module.css";
import type { Column } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";
import { ChannelList } from "./ChannelList.tsx";
import { EXAMPLES, newDraft, toBody, toDraft } from "./draft.ts";
import { AlertForm } from "./form.tsx";
import { History } from "./History.tsx";
import { CHANNELS, conditionText, metricText, alertStatus, windowText } from "./labels.ts";
import { type Alert, deleteAlert, saveAlert, useAlert, useAlerts } from "./queries.ts";

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

export default defineEditableResource(
  { path: "/console/alerts", name: "Alerts", one: "alert", permission: "traces.write" },
  {
    list: {
      purpose: "Notifications when a figure of runs passes a threshold.",
      useRows: useAlerts,
      rowKey: ({ id }) => id,
      columns: useColumns,
      empty: {
        text: "An alert watches a figure of a project’s runs. It notifies its channels when the figure passes a threshold, and when it is within the threshold again.",
        command: CREATE,
        examples: EXAMPLES,
      },
      help: (
        <>
          <h2>Create an alert with the API</h2>
          <Command text={CREATE} />
          <p>
            Alerts are evaluated once a minute: <a href="/docs/alerts">Alerts</a>
          </p>
        </>
      ),
    },
    create: {
      purpose: "The figure it watches, and the channels it notifies.",
      useKnown: useProjects,
      what: "projects",
      newDraft: (projects, params) => newDraft(params.get("project") ?? projects[0]?.id ?? "", params.get("example")),
      create: async (draft) => (await saveAlert(undefined, toBody(draft, true))).id,
    },
    item: {
      useItem: useAlert,
      title: ({ name }) => name,
      isEnabled: ({ is_enabled }) => is_enabled,
      setEnabled: (id, row, isEnabled) => saveAlert(id, toBody(toDraft(row), isEnabled)),
      toDraft,
      save: (id, draft, row) => saveAlert(id, toBody(draft, row.is_enabled)),
      remove: deleteAlert,
      deletion: "Its history is deleted with it. To stop it for a time, pause it.",
      View,
    },
    Form: AlertForm,
  },
);

function View({ row, form }: { row: Alert; form: ReactNode }) {
  if (form) return form;
  return (
    <>
      <AlertFields alert={row} />
      <ChannelList alert={row} />
      <History alert={row} />
    </>
  );
}

function AlertFields({ alert }: { alert: Alert }) {
  const projects = useProjects();
  const { session_id, filter, state_since, evaluated_at, min_runs, fire_after, resolve_after } = alert;
  const runs = new URLSearchParams({ project: session_id, all: "1", ...(filter !== null && { filter }) });
  return (
    <dl className={work.facts}>
      <Field name="State">
        <State {...alertStatus(alert)} />
      </Field>
      <Field name="Since">
        <Time at={state_since} exact />
      </Field>
      <Field name="Now">{metricText(alert.metric, alert.value)}</Field>
      <Field name="Fires at">{conditionText(alert)}</Field>
      <Field name="Window">{windowText(alert.window_minutes)}</Field>
      <Field name="Least number of runs">{min_runs}</Field>
      <Field name="Evaluations in a row">
        {fire_after} to fire, {resolve_after} to resolve
      </Field>
      <Field name="Last evaluation">{evaluated_at === null ? "none yet" : <Time at={evaluated_at} />}</Field>
      <Field name="Project">
        <Link href={`/traces?project=${session_id}`}>{projectName(projects.data, session_id)}</Link>
      </Field>
      <Field name="Filter">
        {filter === null ? "none" : <code>{filter}</code>} <Link href={`/traces?${runs}`}>Matching runs</Link>
      </Field>
    </dl>
  );
}

const projectName = (projects: Project[] | undefined, id: string): string =>
  projects?.find((one) => one.id === id)?.name ?? id.slice(0, 8);

function useColumns() {
  const projects = useProjects();
  return { columns: makeColumns(projects.data) };
}

const makeColumns = (projects: Project[] | undefined): Column<Alert>[] => [
  { id: "state", name: "State", width: 116, kept: true, cell: (alert) => <State {...alertStatus(alert)} /> },
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
    cell: ({ metric, value }) => metricText(metric, value),
  },
  {
    id: "condition",
    name: "Fires at",
    width: 190,
    detail: true,
    cell: (alert) => <span title={conditionText(alert)}>{conditionText(alert)}</span>,
  },
  { id: "since", name: "Since", width: 88, end: true, cell: ({ state_since }) => <Time at={state_since} /> },
  { id: "window", name: "Window", width: 72, end: true, cell: ({ window_minutes }) => windowText(window_minutes) },
  {
    id: "project",
    name: "Project",
    width: 120,
    cell: ({ session_id }) => projectName(projects, session_id),
  },
  {
    id: "channels",
    name: "Channels",
    width: 120,
    cell: ({ channels }) => channels.map(({ type }) => CHANNELS[type]).join(", "),
  },
];
