/** One rule: what it takes and does, what became of the runs, and what went wrong. */
import { useState } from "react";
import { Link } from "wouter";
import { useMay, useAction } from "../../api/me.ts";
import { useProjects } from "../../api/queries.ts";
import { Back, Page } from "../../resources/Page.tsx";
import { ConfirmDelete } from "../../resources/Confirm.tsx";
import { State } from "../../resources/State.tsx";
import { Loaded } from "../../resources/states.tsx";
import { costText, countText } from "../../ui/format.ts";
import { exactTime } from "../../ui/time.ts";
import { Fact } from "../../resources/Fields.tsx";
import { ItemActions } from "../../resources/ItemActions.tsx";
import work from "../../resources/work.module.css";
import { Backfills } from "./Backfills.tsx";
import { toBody, toDraft } from "./draft.ts";
import { Failures, Scores, Waiting } from "./TakenRuns.tsx";
import { deleteRule, saveRule, useRule } from "./queries.ts";
import { RuleForm } from "./form.tsx";
import type { Rule as RuleRow } from "./types.ts";
import { samplingText } from "./labels.ts";

export function Rule({ id }: { id: string }) {
  const may = useMay();
  const rule = useRule(id);
  const projects = useProjects();
  const [editing, setEditing] = useState(false);
  const [asked, setAsked] = useState(false);
  const pause = useAction("traces.write");
  const setEnabled = (row: RuleRow, is: boolean) =>
    pause.run(async () => void (await saveRule(id, toBody(toDraft(row), is))));
  return (
    <Page
      title={rule.data?.display_name ?? "Rule"}
      back={<Back href="/console/rules" name="Rules" />}
      tools={
        rule.data &&
        may("traces.write") && (
          <ItemActions
            enabled={rule.data.is_enabled}
            busy={pause.busy}
            editing={editing}
            onToggle={() => rule.data && void setEnabled(rule.data, !rule.data.is_enabled)}
            onEdit={() => setEditing(!editing)}
            onDelete={() => setAsked(true)}
          />
        )
      }
    >
      {pause.trouble !== "" && (
        <p className={work.trouble} role="alert">
          {pause.trouble}
        </p>
      )}
      <Loaded query={rule} what="rule">
        {(row) =>
          editing ? (
            <RuleForm
              start={toDraft(row)}
              projects={[
                ...(projects.data ?? []).filter((project) => project.id !== row.session_id),
                { id: row.session_id, name: row.session_name ?? row.session_id },
              ]}
              fixed
              submit="Save rule"
              onSave={async (draft) => {
                await saveRule(id, toBody(draft, row.is_enabled));
                setEditing(false);
              }}
              onCancel={() => setEditing(false)}
            />
          ) : (
            <>
              <Facts rule={row} />
              {(row.evaluators ?? row.code_evaluators) !== null && <Scores rule={row} />}
              <Waiting rule={row} />
              <Failures rule={row} />
              <Backfills rule={row} />
            </>
          )
        }
      </Loaded>
      {asked && (
        <ConfirmDelete
          title="Delete this rule?"
          text="It takes no further runs, and its log is deleted. Its scores, and what it added to queues and datasets, stay. To stop it for a time, pause it."
          what="rule"
          needs="traces.write"
          list="/console/rules"
          onDelete={() => deleteRule(id)}
          onClose={() => setAsked(false)}
        />
      )}
    </Page>
  );
}

function Facts({ rule }: { rule: RuleRow }) {
  const { stats, filter, trace_filter, tree_filter, session_id } = rule;
  const traces = new URLSearchParams({ project: session_id, all: "1", ...(filter !== null && { filter }) });
  return (
    <dl className={work.facts}>
      <Fact name="Status">
        <State {...(rule.is_enabled ? { state: "success", word: "active" } : { state: "idle", word: "paused" })} />
      </Fact>
      <Fact name="Done">{countText(stats.done)}</Fact>
      <Fact name="Failed">{countText(stats.failed)}</Fact>
      <Fact name="Waiting">{countText(stats.waiting)}</Fact>
      <Fact name="Cost">{costText(stats.cost)}</Fact>
      <Fact name="Project">
        <Link href={`/traces?project=${session_id}`}>{rule.session_name ?? session_id}</Link>
      </Fact>
      <Fact name="Filter">
        {filter === null ? "none" : <code>{filter}</code>} <Link href={`/traces?${traces}`}>Matching runs</Link>
      </Fact>
      {trace_filter !== null && (
        <Fact name="Filter of the root">
          <code>{trace_filter}</code>
        </Fact>
      )}
      {tree_filter !== null && (
        <Fact name="Filter of any run">
          <code>{tree_filter}</code>
        </Fact>
      )}
      <Fact name="Sampling">{samplingText(rule)}</Fact>
      <ActionFacts rule={rule} />
      <Fact name="Created">{exactTime(rule.created_at)}</Fact>
    </dl>
  );
}

function ActionFacts({ rule }: { rule: RuleRow }) {
  const { add_to_annotation_queue_id: queue, add_to_dataset_id: dataset } = rule;
  return (
    <>
      {queue !== null && (
        <Fact name="Adds to queue">
          <Link href={`/console/queues/${queue}`}>{rule.add_to_annotation_queue_name ?? "deleted"}</Link>
        </Fact>
      )}
      {dataset !== null && (
        <Fact name="Adds to dataset">
          <Link href={`/console/datasets/${dataset}`}>{rule.add_to_dataset_name ?? "deleted"}</Link>
        </Fact>
      )}
      {rule.code_evaluators && (
        <Fact name="Scores by code">
          <code>{rule.code_evaluators.map(({ code }) => code).join(", ")}</code>
        </Fact>
      )}
      {rule.evaluators && (
        <Fact name="Judged by">
          {rule.evaluators
            .map(({ structured: { model } }) =>
              model.provider === "assistant" ? `assistant ${model.assistant_id}` : model.model,
            )
            .join(", ")}
        </Fact>
      )}
      {rule.webhooks && <Fact name="Sends to">{rule.webhooks.map(({ url }) => url).join(", ")}</Fact>}
    </>
  );
}
