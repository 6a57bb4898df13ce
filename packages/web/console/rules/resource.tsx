/** Rules on traced runs: the list, a new one, and one of them with what became of the runs. */
import type { ReactNode } from "react";
import { Link } from "wouter";
import { useProjects } from "../../api/queries.ts";
import { formatCurl } from "../../api/server.ts";
import { defineEditableResource } from "../../resources/defineResource.tsx";
import { Field } from "../../resources/Fields.tsx";
import parts from "../../resources/parts.module.css";
import { State } from "../../resources/State.tsx";
import { Command } from "../../resources/states.tsx";
import work from "../../resources/work.module.css";
import { costText, countText, firstLine } from "../../ui/format.ts";
import type { Column } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";
import { exactTime } from "../../ui/time.ts";
import { Backfills } from "./Backfills.tsx";
import { EXAMPLES, newDraft, toBody, toDraft } from "./draft.ts";
import { RuleForm } from "./form.tsx";
import { listActions, samplingText } from "./labels.ts";
import { deleteRule, saveRule, useLastFailures, useRule, useRules } from "./queries.ts";
import { Failures, Scores, Waiting } from "./TakenRuns.tsx";
import type { Failure, Rule } from "./types.ts";

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

export default defineEditableResource(
  { path: "/console/rules", name: "Rules", one: "rule", permission: "traces.write" },
  {
    list: {
      purpose: "What is done with the runs of a project as they come: scored, reviewed, kept, sent on.",
      useRows: useRules,
      rowKey: ({ id }) => id,
      columns: (rules) => useColumns(rules),
      empty: {
        text: "A rule chooses runs of a project by a filter and a sampling rate. It scores them, hands them to people, keeps them as examples, or sends them to another system.",
        command: CREATE,
        examples: EXAMPLES,
      },
      help: (
        <>
          <h2>Create a rule with the API</h2>
          <Command text={CREATE} />
          <p>
            A rule takes each run once. Its work begins within about a minute of the run’s end:{" "}
            <a href="/docs/rules">Rules on traced runs</a>
          </p>
        </>
      ),
    },
    create: {
      purpose: "Which runs it takes, and what it does with them.",
      useKnown: useProjects,
      what: "projects",
      newDraft: (projects, params) => newDraft(params.get("project") ?? projects[0]?.id ?? "", params.get("example")),
      create: async (draft) => (await saveRule(undefined, toBody(draft, true))).id,
    },
    item: {
      useItem: useRule,
      title: ({ display_name }) => display_name,
      isEnabled: ({ is_enabled }) => is_enabled,
      setEnabled: (id, row, isEnabled) => saveRule(id, toBody(toDraft(row), isEnabled)),
      toDraft,
      save: (id, draft, row) => saveRule(id, toBody(draft, row.is_enabled)),
      remove: deleteRule,
      deletion:
        "It takes no further runs, and its log is deleted. Its scores, and what it added to queues and datasets, stay. To stop it for a time, pause it.",
      View,
    },
    Form: RuleForm,
  },
);

function View({ row, form }: { row: Rule; form: ReactNode }) {
  if (form) return form;
  return (
    <>
      <RuleFields rule={row} />
      {(row.evaluators ?? row.code_evaluators) !== null && <Scores rule={row} />}
      <Waiting rule={row} />
      <Failures rule={row} />
      <Backfills rule={row} />
    </>
  );
}

function RuleFields({ rule }: { rule: Rule }) {
  const { stats, filter, trace_filter, tree_filter, session_id } = rule;
  const traces = new URLSearchParams({ project: session_id, all: "1", ...(filter !== null && { filter }) });
  return (
    <dl className={work.facts}>
      <Field name="Status">
        <State {...(rule.is_enabled ? { state: "success", word: "active" } : { state: "idle", word: "paused" })} />
      </Field>
      {rule.error !== null && <Field name="Error">{rule.error}</Field>}
      <Field name="Done">{countText(stats.done)}</Field>
      <Field name="Failed">{countText(stats.failed)}</Field>
      <Field name="Waiting">{countText(stats.waiting)}</Field>
      <Field name="Cost">{costText(stats.cost)}</Field>
      <Field name="Project">
        <Link href={`/traces?project=${session_id}`}>{rule.session_name ?? session_id}</Link>
      </Field>
      <Field name="Filter">
        {filter === null ? "none" : <code>{filter}</code>} <Link href={`/traces?${traces}`}>Matching runs</Link>
      </Field>
      {trace_filter !== null && (
        <Field name="Filter of the root">
          <code>{trace_filter}</code>
        </Field>
      )}
      {tree_filter !== null && (
        <Field name="Filter of any run">
          <code>{tree_filter}</code>
        </Field>
      )}
      <Field name="Sampling">{samplingText(rule)}</Field>
      <ActionFields rule={rule} />
      <Field name="Created">{exactTime(rule.created_at)}</Field>
    </dl>
  );
}

function ActionFields({ rule }: { rule: Rule }) {
  const { add_to_annotation_queue_id: queue, add_to_dataset_id: dataset } = rule;
  return (
    <>
      {queue !== null && (
        <Field name="Adds to queue">
          <Link href={`/console/queues/${queue}`}>{rule.add_to_annotation_queue_name ?? "deleted"}</Link>
        </Field>
      )}
      {dataset !== null && (
        <Field name="Adds to dataset">
          <Link href={`/console/datasets/${dataset}`}>{rule.add_to_dataset_name ?? "deleted"}</Link>
        </Field>
      )}
      {rule.code_evaluators && (
        <Field name="Scores by code">
          <code>{rule.code_evaluators.map(({ code }) => code).join(", ")}</code>
        </Field>
      )}
      {rule.evaluators && (
        <Field name="Judged by">
          {rule.evaluators
            .map(({ structured: { model } }) =>
              model.provider === "assistant" ? `assistant ${model.assistant_id}` : model.model,
            )
            .join(", ")}
        </Field>
      )}
      {rule.webhooks && <Field name="Sends to">{rule.webhooks.map(({ url }) => url).join(", ")}</Field>}
    </>
  );
}

const useColumns = (rules: Rule[]) => ({ columns: makeColumns(useLastFailures(rules)) });

function makeColumns(failures: Map<string, Failure>): Column<Rule>[] {
  return [
    {
      id: "state",
      name: "Status",
      width: 88,
      kept: true,
      cell: ({ is_enabled, error }) => (
        <span title={error ?? undefined}>
          <State
            {...(!is_enabled
              ? { state: "idle", word: "paused" }
              : error === null
                ? { state: "success", word: "active" }
                : { state: "error", word: "error" })}
          />
        </span>
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
