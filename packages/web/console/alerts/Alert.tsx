/** One alert: its state, what it watches, its channels and its history. */
import { useState } from "react";
import { Link } from "wouter";
import { useMay, useAction } from "../../api/me.ts";
import { useProjects } from "../../api/queries.ts";
import { Back, Page } from "../../resources/Page.tsx";
import { ConfirmDelete } from "../../resources/Confirm.tsx";
import { State } from "../../resources/State.tsx";
import { Loaded } from "../../resources/states.tsx";
import { Time } from "../../ui/Time.tsx";
import { Fact } from "../../resources/Fields.tsx";
import { ItemActions } from "../../resources/ItemActions.tsx";
import work from "../../resources/work.module.css";
import { AlertForm } from "./form.tsx";
import { ChannelList } from "./ChannelList.tsx";
import { toBody, toDraft } from "./draft.ts";
import { History } from "./History.tsx";
import { type Alert as AlertRow, deleteAlert, saveAlert, useAlert } from "./queries.ts";
import { conditionText, figureText, standing, windowText } from "./labels.ts";

export function Alert({ id }: { id: string }) {
  const may = useMay();
  const alert = useAlert(id);
  const projects = useProjects();
  const [editing, setEditing] = useState(false);
  const [asked, setAsked] = useState(false);
  const pause = useAction("traces.write");
  const setEnabled = (row: AlertRow, is: boolean) =>
    pause.run(async () => void (await saveAlert(id, toBody(toDraft(row), is))));
  return (
    <Page
      title={alert.data?.name ?? "Alert"}
      back={<Back href="/console/alerts" name="Alerts" />}
      tools={
        alert.data &&
        may("traces.write") && (
          <ItemActions
            enabled={alert.data.is_enabled}
            busy={pause.busy}
            editing={editing}
            onToggle={() => alert.data && void setEnabled(alert.data, !alert.data.is_enabled)}
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
      <Loaded query={alert} what="alert">
        {(row) =>
          editing ? (
            <AlertForm
              start={toDraft(row)}
              projects={projects.data ?? []}
              submit="Save alert"
              onSave={async (draft) => {
                await saveAlert(id, toBody(draft, row.is_enabled));
                setEditing(false);
              }}
              onCancel={() => setEditing(false)}
            />
          ) : (
            <>
              <Facts
                alert={row}
                project={projects.data?.find((one) => one.id === row.session_id)?.name ?? row.session_id.slice(0, 8)}
              />
              <ChannelList alert={row} />
              <History alert={row} />
            </>
          )
        }
      </Loaded>
      {asked && (
        <ConfirmDelete
          title="Delete this alert?"
          text="Its history is deleted with it. To stop it for a time, pause it."
          what="alert"
          needs="traces.write"
          list="/console/alerts"
          onDelete={() => deleteAlert(id)}
          onClose={() => setAsked(false)}
        />
      )}
    </Page>
  );
}

function Facts({ alert, project }: { alert: AlertRow; project: string }) {
  const { session_id, filter, state_since, evaluated_at, min_runs, fire_after, resolve_after } = alert;
  const runs = new URLSearchParams({ project: session_id, all: "1", ...(filter !== null && { filter }) });
  return (
    <dl className={work.facts}>
      <Fact name="State">
        <State {...standing(alert)} />
      </Fact>
      <Fact name="Since">
        <Time at={state_since} exact />
      </Fact>
      <Fact name="Now">{figureText(alert.metric, alert.value)}</Fact>
      <Fact name="Fires at">{conditionText(alert)}</Fact>
      <Fact name="Window">{windowText(alert.window_minutes)}</Fact>
      <Fact name="Least number of runs">{min_runs}</Fact>
      <Fact name="Evaluations in a row">
        {fire_after} to fire, {resolve_after} to resolve
      </Fact>
      <Fact name="Last evaluation">{evaluated_at === null ? "none yet" : <Time at={evaluated_at} />}</Fact>
      <Fact name="Project">
        <Link href={`/traces?project=${session_id}`}>{project}</Link>
      </Fact>
      <Fact name="Filter">
        {filter === null ? "none" : <code>{filter}</code>} <Link href={`/traces?${runs}`}>Matching runs</Link>
      </Fact>
    </dl>
  );
}
