/** API keys: what programs call the server with. */
import { useState } from "react";
import { Link, useLocation } from "wouter";
import { name as PACKAGE } from "../../../../package.json";
import { formatCurl, SERVER } from "../../api/server.ts";
import type { ViewProps } from "../../app/view-props.ts";
import { Button } from "../../ui/Button.tsx";
import { Missing, Secret } from "../../resources/Secret.tsx";
import { Page } from "../../resources/Page.tsx";
import css from "../../resources/parts.module.css";
import { Command, Empty, Loaded } from "../../resources/states.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";
import { CreateKey } from "./CreateKey.tsx";
import { expiryText } from "./expiry.ts";
import { isOwn, KeyDetails } from "./KeyDetails.tsx";
import { type Key, type NewKey, useApiKeys } from "./queries.ts";

const PATH = "/console/keys";

export default function Keys({ id }: ViewProps) {
  const [, navigate] = useLocation();
  const keys = useApiKeys();
  const [made, setMade] = useState<NewKey>();
  const close = () => navigate(PATH);
  const open = keys.data?.find((key) => key.id === id);
  const show = (one: NewKey) => {
    setMade(one);
    close();
  };
  return (
    <Page
      title="Keys"
      purpose="Programs use a key to call this workspace."
      actions={
        <Button look="filled" onClick={() => navigate(`${PATH}/new`)}>
          New key
        </Button>
      }
      aside={
        <>
          <h2>Call with a key</h2>
          <Command label="Copy the request" text={formatCurl("/assistants/search", "{}")} />
          <h2>From the command line</h2>
          <Command text={`npx -p ${PACKAGE} weir keys list --url ${SERVER}`} />
        </>
      }
    >
      <Loaded query={keys} what="keys">
        {(rows) =>
          rows.length === 0 ? (
            <Empty
              title="No keys yet."
              text="A program needs a key to call this workspace. The key is shown once, when it is created."
            />
          ) : (
            <Table
              label="API keys"
              columns={COLUMNS}
              rows={rows}
              rowKey={rowKey}
              openKey={id}
              onOpen={(row) => navigate(`${PATH}/${row.id}`)}
            />
          )
        }
      </Loaded>
      {id === "new" && <CreateKey onMade={show} onClose={close} />}
      {open && <KeyDetails key={open.id} apiKey={open} onRolled={show} onClose={close} />}
      {id !== undefined && id !== "new" && keys.data && !open && <Missing what="key" onClose={close} />}
      {made && (
        <Secret
          title={`Key “${made.name}”`}
          text="Copy it now: it is not shown again. Who has it can act as you allowed it."
          secret={made.key}
          onDone={() => setMade(undefined)}
        />
      )}
    </Page>
  );
}

const rowKey = (key: Key) => key.id;

const COLUMNS: Column<Key>[] = [
  {
    id: "name",
    name: "Name",
    width: 160,
    kept: true,
    grows: true,
    cell: (row) => (
      <>
        <Link href={`${PATH}/${row.id}`}>{row.name}</Link>
        {isOwn(row) && <span className={css.aside}> this tab</span>}
      </>
    ),
  },
  {
    id: "expires",
    name: "Expires",
    width: 96,
    kept: true,
    cell: ({ expires_at }) => {
      const text = expiryText(expires_at, Date.now());
      return text === "expired" ? <span className={css.failed}>{text}</span> : text;
    },
  },
  { id: "scopes", name: "Scopes", width: 200, cell: ({ scopes }) => scopes.join(", ") },
  { id: "role", name: "Role", width: 96, cell: ({ role }) => role ?? "" },
  { id: "hint", name: "Key", width: 140, cell: ({ hint }) => <span className={css.mono}>{hint}…</span> },
  {
    id: "used",
    name: "Last used",
    width: 88,
    end: true,
    cell: ({ last_used_at }) => (last_used_at === null ? "not yet" : <Time at={last_used_at} />),
  },
  { id: "created", name: "Created", width: 88, end: true, cell: ({ created_at }) => <Time at={created_at} /> },
];
