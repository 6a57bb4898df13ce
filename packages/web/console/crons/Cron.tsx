/** One cron: when it fires, what it starts, and how its last due times went. */
import { useState } from "react";
import { Link } from "wouter";
import { useMay, useAction } from "../../api/me.ts";
import { useAssistants } from "../../api/queries.ts";
import { Payload } from "../../ui/Payload.tsx";
import { exactTime } from "../../ui/time.ts";
import { Back, Page } from "../../resources/Page.tsx";
import { ConfirmDelete } from "../../resources/Confirm.tsx";
import { State } from "../../resources/State.tsx";
import { Loaded } from "../../resources/states.tsx";
import { ItemActions } from "../../resources/ItemActions.tsx";
import work from "../../resources/work.module.css";
import { toBody, type Cron as CronRow, toDraft } from "./draft.ts";
import { Firings } from "./Firings.tsx";
import { Form } from "./form.tsx";
import { Next } from "./List.tsx";
import { changeCron, deleteCron, useCron } from "./queries.ts";
import { standing } from "./firing.ts";
import { fullTime, untilText } from "../../ui/days.ts";

const STATES = {
  active: { state: "success", word: "active" },
  paused: { state: "idle", word: "paused" },
  over: { state: "idle", word: "ended" },
};

export function Cron({ id }: { id: string }) {
  const may = useMay();
  const cron = useCron(id);
  const [editing, setEditing] = useState(false);
  const [asked, setAsked] = useState(false);
  const pause = useAction("crons.write");
  return (
    <Page
      title={cron.data ? `Cron ${cron.data.schedule}` : "Cron"}
      back={<Back href="/console/crons" name="Crons" />}
      tools={
        cron.data &&
        may("crons.write") && (
          <ItemActions
            enabled={cron.data.enabled}
            busy={pause.busy}
            editing={editing}
            onToggle={() => void pause.run(() => changeCron(id, { enabled: !cron.data?.enabled }))}
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
      <Loaded query={cron} what="cron">
        {(row) => (
          <>
            {editing ? (
              <Form
                start={toDraft(row)}
                isNew={false}
                action="Save"
                onSave={async (draft) => {
                  await changeCron(id, toBody(draft));
                  setEditing(false);
                }}
                onCancel={() => setEditing(false)}
              />
            ) : (
              <Facts cron={row} />
            )}
            <Firings id={id} deletes={row.on_run_completed === "delete"} />
            {!editing && row.payload.input !== undefined && (
              <Payload label="Input" text={JSON.stringify(row.payload.input, null, 2)} />
            )}
          </>
        )}
      </Loaded>
      {asked && (
        <ConfirmDelete
          title="Delete this cron?"
          text="It starts no further runs. Its runs and threads stay. To stop it for a time, pause it."
          what="cron"
          needs="crons.write"
          list="/console/crons"
          onDelete={() => deleteCron(id)}
          onClose={() => setAsked(false)}
        />
      )}
    </Page>
  );
}

function Facts({ cron }: { cron: CronRow }) {
  const assistants = useAssistants();
  const { assistant_id, thread_id, end_time, on_run_completed, user_id } = cron;
  return (
    <dl className={work.facts}>
      <div>
        <dt>Status</dt>
        <dd>
          <State {...STATES[standing(cron)]} />
        </dd>
      </div>
      <div>
        <dt>Next</dt>
        <dd>
          {standing(cron) === "active" && cron.next_run_date !== null ? (
            <time dateTime={cron.next_run_date}>
              {fullTime(cron.next_run_date)}{" "}
              <span className={`${work.faint} ${work.together}`}>({untilText(cron.next_run_date)})</span>
            </time>
          ) : (
            <Next cron={cron} />
          )}
        </dd>
      </div>
      <div>
        <dt>Time zone</dt>
        <dd>{cron.timezone ?? "UTC"}</dd>
      </div>
      <div>
        <dt>Assistant</dt>
        <dd>
          <Link href={`/console/assistants/${assistant_id}`}>
            {assistants.data?.find((one) => one.assistant_id === assistant_id)?.name ?? assistant_id.slice(0, 8)}
          </Link>
        </dd>
      </div>
      <div>
        <dt>Thread</dt>
        <dd>
          {thread_id === null ? (
            `A new one for each run, ${on_run_completed === "keep" ? "kept" : "deleted after it"}`
          ) : (
            <Link href={`/chat/${thread_id}`}>{thread_id.slice(0, 8)}</Link>
          )}
        </dd>
      </div>
      <div>
        <dt>Ends</dt>
        <dd>{end_time === null ? "Never" : exactTime(end_time)}</dd>
      </div>
      {user_id !== null && (
        <div>
          <dt>User</dt>
          <dd>{user_id}</dd>
        </div>
      )}
    </dl>
  );
}
