/** The audit log: who changed what, when, and from where. */
import { useMemo } from "react";
import { Link, useLocation, useSearchParams } from "wouter";
import type { ViewProps } from "../../app/view-props.ts";
import { useAction } from "../../api/me.ts";
import { Button } from "../../ui/Button.tsx";
import controls from "../../ui/controls.module.css";
import { useApiKeys } from "../keys/queries.ts";
import { Missing } from "../../resources/Secret.tsx";
import { Page } from "../../resources/Page.tsx";
import pageCss from "../../resources/page.module.css";
import css from "../../resources/parts.module.css";
import { useRange, RangePicker } from "../../resources/RangePicker.tsx";
import { useReadOn } from "../../api/queries.ts";
import { State } from "../../resources/State.tsx";
import { Empty, Loaded } from "../../resources/states.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";
import { ACTIONS, actionText, actorText, isRefusal, isUuid, targetText } from "./actions.ts";
import { download, type Entry, useEntries } from "./queries.ts";
import { Modal } from "../../ui/Modal.tsx";
import { Payload } from "../../ui/Payload.tsx";
import { Fields } from "../../resources/Fields.tsx";
import { ShowMore } from "../../resources/ListPage.tsx";

const PATH = "/console/audit";

export default function Audit({ id }: ViewProps) {
  const [, navigate] = useLocation();
  const [params, setParams] = useSearchParams();
  const [range] = useRange();
  const action = params.get("action") ?? "";
  const entries = useEntries(range, action);
  const keys = useKeyNames();
  const saving = useAction("audit.read");
  const open = entries.data?.rows.find((row) => row.id === id);
  useReadOn(entries, id !== undefined && entries.data !== undefined && !open);
  const search = params.size === 0 ? "" : `?${params}`;
  const close = () => navigate(PATH + search);
  return (
    <Page
      title="Audit log"
      purpose="Sign-ins and access changes, with who made them and from where."
      actions={<RangePicker />}
      tools={
        <>
          <select
            className={`${controls.field} ${pageCss.range} ${css.filter}`}
            aria-label="Action"
            value={action}
            onChange={(event) =>
              setParams((now) => {
                const next = new URLSearchParams(now);
                next.delete("action");
                if (event.target.value !== "") next.set("action", event.target.value);
                return next;
              })
            }
          >
            <option value="">All actions</option>
            {ACTIONS.map(({ group, actions }) => (
              <optgroup key={group} label={group}>
                {actions.map(([one, words]) => (
                  <option key={one} value={one}>
                    {words}
                  </option>
                ))}
              </optgroup>
            ))}
          </select>
          <Button
            look="quiet"
            title={saving.refusal}
            disabled={saving.button.disabled || !entries.data?.rows.length}
            onClick={() => void saving.run(() => download(range, action))}
          >
            Download as NDJSON
          </Button>
          {saving.trouble !== "" && (
            <span className={css.trouble} role="alert">
              {saving.trouble}
            </span>
          )}
        </>
      }
    >
      <Loaded query={entries} what="entries">
        {({ rows }) =>
          rows.length === 0 ? (
            <Empty
              title={action === "" ? "No entries in this time range." : "No entry matches this filter."}
              text={
                action === ""
                  ? "Choose a longer time range. Sign-ins and changes of keys, applications, destinations and exports are recorded here. No API call can change or delete an entry."
                  : "Choose another action, or a longer time range."
              }
            >
              {action !== "" && <Link href={PATH}>Show all actions</Link>}
            </Empty>
          ) : (
            <>
              <Table
                label="Audit log"
                columns={buildColumns(keys, search)}
                rows={rows}
                rowKey={(row) => row.id}
                openKey={id}
                onOpen={(row) => navigate(`${PATH}/${row.id}${search}`)}
              />
              <ShowMore query={entries} />
            </>
          )
        }
      </Loaded>
      {open && <EntryDetails entry={open} keys={keys} onClose={close} />}
      {id !== undefined && entries.data && !open && !entries.hasNextPage && (
        <Missing what="entry" text="It is not in this time range, or belongs to another workspace." onClose={close} />
      )}
    </Page>
  );
}

/** Names of the workspace's keys by their ids. A key that was revoked has none. */
function useKeyNames(): Map<string, string> {
  const { data } = useApiKeys();
  return useMemo(() => new Map(data?.map(({ id, name }) => [id, name])), [data]);
}

function buildColumns(keys: Map<string, string>, search: string): Column<Entry>[] {
  return [
    { id: "time", name: "When", width: 88, kept: true, cell: ({ at }) => <Time at={at} /> },
    {
      id: "action",
      name: "Action",
      width: 180,
      kept: true,
      cell: ({ id, action }) => (
        <Link href={`${PATH}/${id}${search}`}>
          {isRefusal(action) ? <State state="error" word={actionText(action)} /> : actionText(action)}
        </Link>
      ),
    },
    {
      id: "target",
      name: "Target",
      width: 104,
      detail: true,
      grows: true,
      cell: (row) => {
        const text = targetText(row, keys);
        return (
          <span title={row.target_id} className={text === row.target_id ? css.mono : undefined}>
            {isUuid(text) ? text.slice(0, 8) : text}
          </span>
        );
      },
    },
    {
      id: "who",
      name: "Who",
      width: 140,
      detail: true,
      cell: ({ actor }) => <span title={actor.id}>{actorText(actor, keys)}</span>,
    },
    {
      id: "address",
      name: "IP address",
      width: 140,
      cell: ({ address }) => <span className={css.mono}>{address}</span>,
    },
  ];
}

export function EntryDetails({
  entry,
  keys,
  onClose,
}: {
  entry: Entry;
  keys: Map<string, string>;
  onClose: () => void;
}) {
  const { at, actor, action, target_id, detail, address, user_agent } = entry;
  const target = targetText(entry, keys);
  return (
    <Modal title={actionText(action)} onClose={onClose}>
      <Fields
        fields={{
          When: <Time at={at} exact />,
          Who: actorText(actor, keys),
          Credential: actor.id !== "" && <span className={css.mono}>{actor.id}</span>,
          Target: target !== target_id && target,
          "Target id": <span className={css.mono}>{target_id}</span>,
          "IP address": address !== null && <span className={css.mono}>{address}</span>,
          "User agent": user_agent,
          Action: <span className={css.mono}>{action}</span>,
        }}
      />
      {Object.keys(detail).length > 0 && <Payload label="Detail" text={JSON.stringify(detail, null, 2)} />}
    </Modal>
  );
}
