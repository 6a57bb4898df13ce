/** Webhooks: the secrets that sign them, and where they go. */
import { useState } from "react";
import { useLocation } from "wouter";
import { useAssistants } from "../../api/queries.ts";
import { formatCurl } from "../../api/server.ts";
import type { ViewProps } from "../../app/view-props.ts";
import { Button, IconButton } from "../../ui/Button.tsx";
import { Confirm } from "../../resources/Confirm.tsx";
import { Page } from "../../resources/Page.tsx";
import css from "../../resources/parts.module.css";
import { Secret } from "../../resources/Secret.tsx";
import { Section } from "../../resources/Fields.tsx";
import { Command, Empty, Loaded } from "../../resources/states.tsx";
import { Table, type Column } from "../../ui/Table.tsx";
import { deleteSecret, type HookedCron, useHookedCrons, useSecrets, type WebhookSecret, rotate } from "./queries.ts";
import { Trash2 } from "lucide-react";
import { State } from "../../resources/State.tsx";
import { Ahead, Time } from "../../ui/Time.tsx";
import { useAction } from "../../api/me.ts";
import { Modal } from "../../ui/Modal.tsx";
import { Form, Select } from "../../resources/Form.tsx";

const PATH = "/console/webhooks";

const RUN = formatCurl(
  "/runs",
  `{
    "assistant_id": "agent",
    "input": {"messages": [{"role": "user", "content": "Hello"}]},
    "webhook": "https://example.com/hook"
  }`,
);

export default function Webhooks({ id }: ViewProps) {
  const [, navigate] = useLocation();
  const secrets = useSecrets();
  const crons = useHookedCrons();
  const assistants = useAssistants();
  const [made, setMade] = useState<string>();
  const [deleting, setDeleting] = useState<WebhookSecret>();
  const close = () => navigate(PATH);
  const nameAssistant = ({ assistant_id }: HookedCron) =>
    assistants.data?.find((one) => one.assistant_id === assistant_id)?.name ?? assistant_id;
  return (
    <Page
      title="Webhooks"
      purpose="Calls that the server makes when a run has ended."
      aside={
        <>
          <h2>Request a webhook</h2>
          <p>A run or a cron names the address. It must be https and public.</p>
          <Command label="Copy the request" text={RUN} />
          <h2>Delivery</h2>
          <p>
            An address that does not answer 2xx within 20 seconds is called again after 1&nbsp;s, 5&nbsp;s, 30&nbsp;s,
            2&nbsp;min and 10&nbsp;min, then three times an hour apart. After that the server gives up and logs it.
          </p>
          <p>
            The server keeps no history of deliveries. Each has a <code>Weir-Delivery</code> id, which is the same at
            every attempt. To check a signature, see <a href="/docs/webhooks#verify-a-delivery">Verify a delivery</a>.
          </p>
        </>
      }
    >
      <Section
        title="Signing secrets"
        act={
          <Button look="filled" onClick={() => navigate(`${PATH}/new`)}>
            {secrets.data?.length ? "Rotate secret" : "Create secret"}
          </Button>
        }
      >
        <Loaded query={secrets} what="signing secrets" rows={2}>
          {(rows) =>
            rows.length === 0 ? (
              <Empty
                title="Webhooks are not signed."
                text="With a signing secret, each delivery carries a Weir-Signature header. The receiver computes it again, and knows that the call is from this workspace and unchanged."
              />
            ) : (
              <Table
                label="Signing secrets"
                columns={secretColumns(setDeleting)}
                rows={rows}
                rowKey={(row) => row.id}
              />
            )
          }
        </Loaded>
      </Section>
      <Section title="Crons with a webhook">
        <Loaded query={crons} what="crons" rows={2}>
          {(rows) =>
            rows.length === 0 ? (
              <p className={css.note}>
                No cron has a webhook. Webhooks of single runs are not listed: they end with the run.
              </p>
            ) : (
              <Table
                label="Crons with a webhook"
                columns={cronColumns(nameAssistant)}
                rows={rows}
                rowKey={(row) => row.cron_id}
              />
            )
          }
        </Loaded>
      </Section>
      {id === "new" && secrets.data && (
        <Rotate
          others={secrets.data.length}
          onMade={(secret) => {
            setMade(secret);
            close();
          }}
          onClose={close}
        />
      )}
      {made !== undefined && (
        <Secret
          title="Signing secret"
          text="Copy it to the receiver now: it is not shown again. The HMAC key is the whole text, with its prefix."
          secret={made}
          onDone={() => setMade(undefined)}
        />
      )}
      {deleting && (
        <Confirm
          title={`Delete the secret ${deleting.hint}…?`}
          text="It signs nothing from then on. A receiver that knows only this secret refuses every delivery."
          act="Delete secret"
          needs="webhooks.manage"
          onAct={() => deleteSecret(deleting.id)}
          onClose={() => setDeleting(undefined)}
        />
      )}
    </Page>
  );
}

/** The columns of signing secrets, and of crons with a webhook. */
export const secretColumns = (onDelete: (row: WebhookSecret) => void): Column<WebhookSecret>[] => [
  {
    id: "hint",
    name: "Secret",
    width: 140,
    kept: true,
    grows: true,
    cell: ({ hint }) => <span className={css.mono}>{hint}…</span>,
  },
  {
    id: "expires",
    name: "Signs until",
    width: 132,
    kept: true,
    cell: ({ expires_at }) => (expires_at === null ? "next rotation" : <Ahead at={expires_at} />),
  },
  { id: "created", name: "Created", width: 88, end: true, cell: ({ created_at }) => <Time at={created_at} /> },
  {
    id: "delete",
    name: "",
    width: 64,
    kept: true,
    end: true,
    cell: (row) => (
      <IconButton label={`Delete ${row.hint}`} onClick={() => onDelete(row)}>
        <Trash2 size={16} aria-hidden />
      </IconButton>
    ),
  },
];

export const cronColumns = (nameAssistant: (row: HookedCron) => string): Column<HookedCron>[] => [
  {
    id: "state",
    name: "State",
    width: 88,
    cell: ({ enabled }) => (
      <State {...(enabled ? { state: "success", word: "active" } : { state: "idle", word: "paused" })} />
    ),
  },
  {
    id: "webhook",
    name: "Address",
    width: 180,
    kept: true,
    grows: true,
    cell: ({ webhook }) => <span title={webhook}>{webhook}</span>,
  },
  { id: "schedule", name: "Schedule", width: 120, kept: true, cell: ({ schedule }) => <code>{schedule}</code> },
  { id: "assistant", name: "Assistant", width: 120, cell: nameAssistant },
  {
    id: "next",
    name: "Next run",
    width: 130,
    end: true,
    cell: ({ next_run_date }) => <Ahead at={next_run_date} />,
  },
];

const OVERLAPS = [
  { seconds: 0, name: "End at once" },
  { seconds: 3_600, name: "Sign for another hour" },
  { seconds: 86_400, name: "Sign for another day" },
  { seconds: 604_800, name: "Sign for another week" },
];

/** Makes a signing secret, the first one or one that follows others. */
export function Rotate({
  others,
  onMade,
  onClose,
}: {
  /** How many secrets sign now. */
  others: number;
  onMade: (secret: string) => void;
  onClose: () => void;
}) {
  const action = useAction("webhooks.manage");
  const [seconds, setSeconds] = useState(86_400);
  const first = others === 0;
  return (
    <Modal
      title={first ? "Create a signing secret" : "Rotate the signing secret"}
      text={
        first
          ? "Every delivery of this workspace is signed with it from now on. It is shown once."
          : "Deliveries carry a signature of each secret, so a receiver can change to the new one while the old ones sign."
      }
      onClose={onClose}
    >
      <Form
        action={action}
        submit="Create secret"
        onSubmit={async () => onMade((await rotate(first ? 0 : seconds)).secret)}
        onCancel={onClose}
      >
        {!first && (
          <Select label="Earlier secrets" value={seconds} onChange={(event) => setSeconds(Number(event.target.value))}>
            {OVERLAPS.map((one) => (
              <option key={one.seconds} value={one.seconds}>
                {one.name}
              </option>
            ))}
          </Select>
        )}
      </Form>
    </Modal>
  );
}
