/** The page of one item of a resource: its parts are the resource's own, its frame and its end are the same for all. */
import type { UseQueryResult } from "@tanstack/react-query";
import { type ComponentType, createContext, type ReactNode, useCallback, useContext, useState } from "react";
import { useAction, useMay } from "../api/me.ts";
import { Button } from "../ui/Button.tsx";
import { useLoaded } from "../ui/on-demand.ts";
import type { Resource } from "./ListPage.tsx";
import type { FormProps } from "./NewPage.tsx";
import { Back, Page } from "./Page.tsx";
import { Loaded } from "./states.tsx";
import work from "./work.module.css";
import { Trouble } from "./Trouble.tsx";

interface Deletion {
  /** The question. Left out: "Delete this alert?" */
  title?: string | undefined;
  /** The consequences: data that go with the item, and data that stay. */
  text: string;
  remove: () => Promise<void>;
}

/** A dialog weighs more than most items: it is loaded when a person wants to delete. */
const loadConfirm = async () => (await import("./Confirm.tsx")).ConfirmDelete;

const AskContext = createContext<() => void>(() => undefined);

/** Asks whether to delete the item of the page. */
export function DeleteButton({ children = "Delete" }: { children?: string }) {
  return (
    <Button look="danger" onClick={useContext(AskContext)}>
      {children}
    </Button>
  );
}

export function ItemPage<Row>({
  resource: { path, name, one, permission },
  query,
  title,
  purpose,
  whole,
  actions,
  tools,
  trouble = "",
  deletion,
  children,
}: {
  resource: Resource;
  query: UseQueryResult<Row>;
  /** Undefined while the item is not loaded. */
  title: string | undefined;
  purpose?: string | undefined;
  /** The class of the content, when its parts scroll independently. */
  whole?: string | undefined;
  /** At the right of the title. */
  actions?: ReactNode;
  /** The row above the content. */
  tools?: ReactNode;
  /** Why an action of the page failed. */
  trouble?: string;
  deletion: Deletion;
  children: (row: Row) => ReactNode;
}) {
  const [isAsking, setAsking] = useState(false);
  const content = (
    <Loaded query={query} what={one}>
      {children}
    </Loaded>
  );
  const { Loaded: ConfirmDelete } = useLoaded(loadConfirm, isAsking, () => setAsking(false));
  const ask = useCallback(() => setAsking(true), []);
  return (
    <AskContext value={ask}>
      <Page
        title={title ?? one.charAt(0).toUpperCase() + one.slice(1)}
        {...(purpose !== undefined && { purpose })}
        whole={whole !== undefined}
        back={<Back href={path} name={name} />}
        actions={actions}
        tools={tools}
      >
        <Trouble text={trouble} />
        {whole === undefined ? content : <div className={whole}>{content}</div>}
        {isAsking && ConfirmDelete && (
          <ConfirmDelete
            title={deletion.title ?? `Delete this ${one}?`}
            text={deletion.text}
            what={one}
            needs={permission}
            list={path}
            onDelete={deletion.remove}
            onClose={() => setAsking(false)}
          />
        )}
      </Page>
    </AskContext>
  );
}

/** An item that a person pauses, edits in a form, and deletes. */
export interface EditableItem<Row, Draft> {
  useItem: (id: string) => UseQueryResult<Row>;
  title: (row: Row) => string;
  isEnabled: (row: Row) => boolean;
  setEnabled: (id: string, row: Row, isEnabled: boolean) => Promise<unknown>;
  toDraft: (row: Row) => Draft;
  save: (id: string, draft: Draft, row: Row) => Promise<unknown>;
  remove: (id: string) => Promise<void>;
  /** The consequences: data that go with the item, and data that stay. */
  deletion: string;
  /** The content. `form` is there while the item is edited. */
  View: ComponentType<{ row: Row; form: ReactNode }>;
}

export function makeItemPage<Row, Draft>(
  resource: Resource,
  { useItem, isEnabled, View, ...item }: EditableItem<Row, Draft>,
  Form: ComponentType<FormProps<Row, Draft>>,
) {
  return function EditableItemPage({ id }: { id: string }) {
    const may = useMay();
    const query = useItem(id);
    const [isEditing, setEditing] = useState(false);
    const pause = useAction(resource.permission);
    const row = query.data;
    const toggle = async (row: Row) => void (await item.setEnabled(id, row, !isEnabled(row)));
    const edit = (row: Row) => (
      <Form
        row={row}
        start={item.toDraft(row)}
        onSave={async (draft) => {
          await item.save(id, draft, row);
          setEditing(false);
        }}
        onCancel={() => setEditing(false)}
      />
    );
    return (
      <ItemPage
        resource={resource}
        query={query}
        title={row && item.title(row)}
        trouble={pause.trouble}
        tools={
          row !== undefined &&
          may(resource.permission) && (
            <div className={work.acts}>
              <Button disabled={pause.busy} onClick={() => void pause.run(() => toggle(row))}>
                {isEnabled(row) ? "Pause" : "Resume"}
              </Button>
              <Button aria-pressed={isEditing} onClick={() => setEditing(!isEditing)}>
                Edit
              </Button>
              <DeleteButton />
            </div>
          )
        }
        deletion={{ text: item.deletion, remove: () => item.remove(id) }}
      >
        {(row) => <View row={row} form={isEditing ? edit(row) : undefined} />}
      </ItemPage>
    );
  };
}
