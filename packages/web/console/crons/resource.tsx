/** Crons: runs that start by the clock. The list, a new one, and one of them with its last due times. */
import type { ReactNode } from "react";
import { Link } from "wouter";
import { useAssistants } from "../../api/queries.ts";
import { formatCurl } from "../../api/server.ts";
import type { Assistant } from "../../api/types.ts";
import { defineEditableResource } from "../../resources/defineResource.tsx";
import { Field } from "../../resources/Fields.tsx";
import { State } from "../../resources/State.tsx";
import { Command } from "../../resources/states.tsx";
import work from "../../resources/work.module.css";
import { fullTime, untilText } from "../../ui/days.ts";
import { Payload } from "../../ui/Payload.tsx";
import type { Column } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";
import { exactTime } from "../../ui/time.ts";
import css from "./crons.module.css";
import { newDraft, toBody, toDraft } from "./draft.ts";
import { FIRING_STATES, isFailure, cronStatus } from "./firing.ts";
import { Firings } from "./Firings.tsx";
import { CronForm } from "./form.tsx";
import { changeCron, createCron, deleteCron, useCron, useCrons, useFirings } from "./queries.ts";
import type { Cron, Firing } from "../../../../src/automation/crons/wire.ts";

/** Due times that the list shows of each cron. */
const LATEST = 10;

const CREATE = formatCurl(
  "/runs/crons",
  `{
    "assistant_id": "agent",
    "schedule": "0 9 * * 1-5",
    "timezone": "Europe/Berlin",
    "input": {"messages": [{"role": "user", "content": "Summarize the news."}]}
  }`,
);

export default defineEditableResource(
  { path: "/console/crons", name: "Crons", one: "cron", permission: "crons.write" },
  {
    list: {
      purpose: "Scheduled runs: when each is due, and how the last ones ended.",
      useRows: useCrons,
      rowKey: ({ cron_id }) => cron_id,
      columns: (crons) => useColumns(crons),
      empty: {
        text: "A cron starts a run of an assistant on a schedule, on a thread of its own or always on the same one. Create one with the button above, or with the API:",
        command: CREATE,
      },
      help: (
        <>
          <h2>Create a cron with the API</h2>
          <Command text={CREATE} />
          <p>Each due time starts exactly one run, even if the timer fires late or twice.</p>
        </>
      ),
    },
    create: {
      purpose: "Start a run of an assistant on a schedule.",
      useKnown: useAssistants,
      what: "assistants",
      newDraft: ([first], params) => {
        const thread = params.get("thread") ?? "";
        const draft = newDraft(params.get("assistant") ?? first?.assistant_id ?? "");
        return thread === "" ? draft : { ...draft, threadChoice: "thread" as const, thread };
      },
      create: async (draft) => {
        const thread = draft.threadChoice === "thread" ? draft.thread : undefined;
        return (await createCron(thread, draft.assistant, toBody(draft))).cron_id;
      },
    },
    item: {
      useItem: useCron,
      title: ({ schedule }) => `Cron ${schedule}`,
      isEnabled: ({ enabled }) => enabled,
      setEnabled: (id, _, enabled) => changeCron(id, { enabled }),
      toDraft,
      save: (id, draft) => changeCron(id, toBody(draft)),
      remove: deleteCron,
      deletion: "It starts no further runs. Its runs and threads stay. To stop it for a time, pause it.",
      View,
    },
    Form: CronForm,
  },
);

function View({ row, form }: { row: Cron; form: ReactNode }) {
  return (
    <>
      {form ?? <CronFields cron={row} />}
      <Firings id={row.cron_id} deletes={row.on_run_completed === "delete"} />
      {!form && row.payload.input !== undefined && (
        <Payload label="Input" text={JSON.stringify(row.payload.input, null, 2)} />
      )}
    </>
  );
}

const STATES = {
  active: { state: "success", word: "active" },
  paused: { state: "idle", word: "paused" },
  over: { state: "idle", word: "ended" },
};

function CronFields({ cron }: { cron: Cron }) {
  const assistants = useAssistants();
  const { assistant_id, thread_id, end_time, on_run_completed, user_id } = cron;
  return (
    <dl className={work.facts}>
      <Field name="Status">
        <State {...STATES[cronStatus(cron)]} />
      </Field>
      <Field name="Next">
        {cronStatus(cron) === "active" && cron.next_run_date !== null ? (
          <time dateTime={cron.next_run_date}>
            {fullTime(cron.next_run_date)}{" "}
            <span className={`${work.faint} ${work.together}`}>({untilText(cron.next_run_date)})</span>
          </time>
        ) : (
          <Next cron={cron} />
        )}
      </Field>
      <Field name="Time zone">{cron.timezone ?? "UTC"}</Field>
      <Field name="Assistant">
        <Link href={`/console/assistants/${assistant_id}`}>
          {assistants.data?.find((one) => one.assistant_id === assistant_id)?.name ?? assistant_id.slice(0, 8)}
        </Link>
      </Field>
      <Field name="Thread">
        {thread_id === null ? (
          `A new one for each run, ${on_run_completed === "keep" ? "kept" : "deleted after it"}`
        ) : (
          <Link href={`/chat/${thread_id}`}>{thread_id.slice(0, 8)}</Link>
        )}
      </Field>
      <Field name="Ends">{end_time === null ? "Never" : exactTime(end_time)}</Field>
      {user_id !== null && <Field name="User">{user_id}</Field>}
    </dl>
  );
}

function useColumns(crons: Cron[]) {
  const assistants = useAssistants();
  const firings = useFirings(
    crons.map(({ cron_id }) => cron_id),
    LATEST,
  );
  return {
    columns: buildColumns(assistants.data ?? [], firings.data),
    trouble: firings.error ? `The last due times did not load. ${firings.error.message}` : undefined,
  };
}

function buildColumns(assistants: Assistant[], firings: Map<string, Firing[]> | undefined): Column<Cron>[] {
  const of = ({ cron_id }: Cron) => firings?.get(cron_id) ?? [];
  return [
    {
      id: "schedule",
      name: "Schedule",
      width: 144,
      kept: true,
      cell: ({ cron_id, schedule }) => (
        <Link href={`/console/crons/${cron_id}`} className={work.mono} title={schedule}>
          {schedule}
        </Link>
      ),
    },
    {
      id: "assistant",
      name: "Assistant",
      width: 88,
      kept: true,
      grows: true,
      cell: ({ assistant_id }) => {
        const name = assistants.find((one) => one.assistant_id === assistant_id)?.name;
        return <span title={name ?? assistant_id}>{name ?? assistant_id.slice(0, 8)}</span>;
      },
    },
    { id: "next", name: "Next", width: 100, kept: true, cell: (cron) => <Next cron={cron} /> },
    {
      id: "last",
      name: "Last run",
      width: 104,
      detail: true,
      cell: (cron) => {
        const [last] = of(cron);
        return last && <State {...FIRING_STATES[last.state]} />;
      },
    },
    {
      id: "at",
      name: "Last due",
      width: 80,
      cell: (cron) => {
        const [last] = of(cron);
        return last && <Time at={last.due} />;
      },
    },
    { id: "latest", name: "Failures", width: 128, cell: (cron) => <Latest firings={of(cron)} /> },
    { id: "zone", name: "Time zone", width: 128, cell: ({ timezone }) => timezone ?? "UTC" },
  ];
}

/** When a cron fires next, or why it does not. */
function Next({ cron }: { cron: Cron }) {
  const how = cronStatus(cron);
  if (how !== "active" || cron.next_run_date === null) return how === "paused" ? "paused" : "ended";
  return (
    <time dateTime={cron.next_run_date} title={exactTime(cron.next_run_date)}>
      {untilText(cron.next_run_date)}
    </time>
  );
}

/** A tick for each of the last due times, the newest at the right, and how many of them failed. */
function Latest({ firings }: { firings: Firing[] }) {
  if (firings.length === 0) return <span className={work.faint}>not due yet</span>;
  const failed = firings.filter(isFailure).length;
  return (
    <span className={css.latest} title={`${failed} of the last ${firings.length} failed`}>
      <span className={css.ticks} aria-hidden>
        {firings.toReversed().map((firing) => (
          <i
            key={firing.due}
            data-look={isFailure(firing) ? "failed" : firing.state === "ended" ? "ended" : "open"}
            title={exactTime(firing.due)}
          />
        ))}
      </span>
      {failed} of {firings.length}
    </span>
  );
}
