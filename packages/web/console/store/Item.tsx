/** One item: its value, and the ways to change or delete it. */
import { X } from "lucide-react";
import { useState } from "react";
import { useMay } from "../../api/me.ts";
import { Button, IconButton } from "../../ui/Button.tsx";
import { Payload } from "../../ui/Payload.tsx";
import { exactTime } from "../../ui/time.ts";
import { Confirm } from "../../resources/Confirm.tsx";
import { Empty, Loaded } from "../../resources/states.tsx";
import work from "../../resources/work.module.css";
import { EditItem } from "./EditItem.tsx";
import { deleteItem, useItem } from "./queries.ts";
import css from "./store.module.css";

export function Item({ namespace, name, onClose }: { namespace: string[]; name: string; onClose: () => void }) {
  const may = useMay();
  const item = useItem(namespace, name);
  const [editing, setEditing] = useState(false);
  const [asked, setAsked] = useState(false);
  if (editing && item.data) return <EditItem namespace={namespace} item={item.data} onDone={() => setEditing(false)} />;
  return (
    // A box that scrolls must be reachable by keyboard.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <section className={css.item} aria-label="Item" tabIndex={0}>
      <div className={work.head}>
        <h2>{name}</h2>
        <IconButton label="Close the item" onClick={onClose}>
          <X size={16} aria-hidden />
        </IconButton>
      </div>
      <Loaded query={item} what="item" rows={4}>
        {(found) =>
          found === null ? (
            <Empty title="There is no such item." text="It may have been deleted, or its time to live is over." />
          ) : (
            <>
              {may("store.write") && (
                <div className={work.acts}>
                  <Button onClick={() => setEditing(true)}>Edit</Button>
                  <Button look="danger" onClick={() => setAsked(true)}>
                    Delete
                  </Button>
                </div>
              )}
              <dl className={work.facts}>
                <div>
                  <dt>Namespace</dt>
                  <dd>{namespace.join(" / ")}</dd>
                </div>
                <div>
                  <dt>Created</dt>
                  <dd>{exactTime(found.created_at)}</dd>
                </div>
                <div>
                  <dt>Changed</dt>
                  <dd>{exactTime(found.updated_at)}</dd>
                </div>
              </dl>
              <Payload label="Value" text={JSON.stringify(found.value, null, 2)} lines={40} />
            </>
          )
        }
      </Loaded>
      {asked && (
        <Confirm
          title={`Delete “${name}”?`}
          text="Agents no longer find it. This cannot be undone."
          act="Delete item"
          needs="store.write"
          onAct={async () => {
            await deleteItem(namespace, name);
            onClose();
          }}
          onClose={() => setAsked(false)}
        />
      )}
    </section>
  );
}
