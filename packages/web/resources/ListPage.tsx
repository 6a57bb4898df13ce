/** The list of a resource: a table whose rows open, or how to make the first one. */
import type { UseInfiniteQueryResult, UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link, useLocation } from "wouter";
import type { Permission } from "../../../src/http/principal.ts";
import { useMay } from "../api/me.ts";
import { Button } from "../ui/Button.tsx";
import controls from "../ui/controls.module.css";
import { type Column, Table } from "../ui/Table.tsx";
import { Page } from "./Page.tsx";
import parts from "./parts.module.css";
import { Empty, Loaded } from "./states.tsx";
import work from "./work.module.css";
import { Trouble } from "./Trouble.tsx";

/** The names of a resource. */
export interface Resource {
  /** The address of the list. `<path>/new` is the form, `<path>/<id>` is an item. */
  path: string;
  /** In the plural, as a title: "Alerts". */
  name: string;
  /** In the singular, within a sentence: "alert". */
  one: string;
  /** To create, change and delete an item. */
  permission: Permission;
}

export interface ListDefinition<Row> {
  purpose: string;
  /** In the text of a failure: "alerts". Left out: the name of the resource in lower case. */
  what?: string;
  /** The rows, at once or by pages. */
  useRows: () => UseQueryResult<Row[]> | UseInfiniteQueryResult<{ rows: Row[] }>;
  rowKey: (row: Row) => string;
  /** Left out: the key. */
  rowPath?: (row: Row) => string;
  /** The columns, or a hook that makes them, which may read what they show beside the rows. */
  columns: Column<Row>[] | ((rows: Row[]) => { columns: Column<Row>[]; trouble?: string | undefined });
  /** Shown where there are no rows. `command` is shown to who may not create one, where there are examples. */
  empty: { text: string; command?: string; examples?: Examples };
  /** How to use the resource, folded. Left out while the list is empty. */
  help?: ReactNode;
  /** No link to the form. */
  isReadOnly?: boolean;
}

/** Drafts to begin with, by their names in the address: `?example=errors`. */
type Examples = Record<string, { title: string; text: string }>;

export function makeListPage<Row>(resource: Resource, { useRows, ...list }: ListDefinition<Row>) {
  const { path, name, one, permission } = resource;
  const Rows = makeRows(resource, list);
  return function ListPage() {
    const may = useMay();
    const query = useRows();
    const rows = query.data === undefined ? undefined : rowsOf(query.data);
    return (
      <Page
        title={name}
        purpose={list.purpose}
        actions={!list.isReadOnly && may(permission) && <NewLink path={path} one={one} />}
        aside={rows !== undefined && rows.length > 0 && list.help}
      >
        <Loaded<Row[] | { rows: Row[] }> query={query} what={list.what ?? name.toLowerCase()}>
          {(data) =>
            rowsOf(data).length === 0 ? (
              <NoRows resource={resource} empty={list.empty} />
            ) : (
              <>
                <Rows rows={rowsOf(data)} />
                <ShowMore query={query} />
              </>
            )
          }
        </Loaded>
      </Page>
    );
  };
}

const rowsOf = <Row,>(data: Row[] | { rows: Row[] }): Row[] => (Array.isArray(data) ? data : data.rows);

/** The button that opens the form of a new item. */
export function NewLink({ path, one }: { path: string; one: string }) {
  return (
    <Link href={`${path}/new`} className={`${controls.button} ${controls.filled} ${work.link}`} data-filled>
      New {one}
    </Link>
  );
}

function NoRows({ resource, empty }: { resource: Resource; empty: ListDefinition<never>["empty"] }) {
  const may = useMay();
  const examples = may(resource.permission) ? empty.examples : undefined;
  return (
    <Empty
      title={`No ${resource.name.toLowerCase()} yet.`}
      text={empty.text}
      {...(empty.command !== undefined && !examples && { command: empty.command })}
    >
      {examples && (
        <ul className={parts.examples} aria-label="Examples">
          {Object.entries(examples).map(([name, { title, text }]) => (
            <li key={name}>
              <Link href={`${resource.path}/new?example=${name}`}>{title}</Link>
              <span>{text}</span>
            </li>
          ))}
        </ul>
      )}
    </Empty>
  );
}

function makeRows<Row>({ path, name }: Resource, list: Omit<ListDefinition<Row>, "useRows">) {
  const { columns: given, rowKey, rowPath = rowKey } = list;
  const useColumns = Array.isArray(given) ? () => ({ columns: given, trouble: undefined }) : given;
  return function Rows({ rows }: { rows: Row[] }) {
    const [, navigate] = useLocation();
    const { columns, trouble } = useColumns(rows);
    return (
      <>
        <Trouble text={trouble} />
        <Table
          label={name}
          columns={columns}
          rows={rows}
          rowKey={rowKey}
          onOpen={(row) => navigate(`${path}/${rowPath(row)}`)}
        />
      </>
    );
  };
}

/** The next page of a list that is read by pages. */
export function ShowMore({ query }: { query: UseQueryResult | UseInfiniteQueryResult }) {
  if (!("hasNextPage" in query) || !query.hasNextPage) return null;
  return (
    <div>
      <Button disabled={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
        Show more
      </Button>
    </div>
  );
}
