/** Writes an item: a new one, or the value of one that is there. */
import { useId, useState } from "react";
import { useAction } from "../../api/me.ts";
import { Button } from "../../ui/Button.tsx";
import controls from "../../ui/controls.module.css";
import work from "../../resources/work.module.css";
import { parseLabels } from "./path.ts";
import { type Item, writeItem } from "./queries.ts";
import css from "./store.module.css";
import { Trouble } from "../../resources/Trouble.tsx";

export function EditItem({
  namespace,
  item,
  onDone,
}: {
  namespace: string[];
  /** Absent for a new one. */
  item?: Item;
  /** With the item that was written, or with nothing. */
  onDone: (made?: { namespace: string[]; key: string }) => void;
}) {
  const id = useId();
  const [where, setWhere] = useState(namespace.join(" / "));
  const [key, setKey] = useState(item?.key ?? "");
  const [text, setText] = useState(() => JSON.stringify(item?.value ?? { text: "" }, null, 2));
  const [ttl, setTtl] = useState("");
  const saving = useAction("store.write");
  const save = async () => {
    // Labels of an item that is there may have slashes of their own.
    const labels = item ? namespace : parseLabels(where);
    if (!labels) throw new Error("Write a namespace, for example users / ada.");
    try {
      await writeItem(labels, key, JSON.parse(text), ttl.trim() === "" ? undefined : Number(ttl));
    } catch (error) {
      throw error instanceof SyntaxError ? new Error(`The value is no JSON: ${error.message}`) : error;
    }
    onDone({ namespace: labels, key });
  };
  return (
    <section className={css.item} aria-label={item ? "Edit item" : "New item"}>
      <div className={work.head}>
        <h2>{item ? `Edit ${item.key}` : "New item"}</h2>
      </div>
      <form
        className={work.form}
        onSubmit={(event) => {
          event.preventDefault();
          void saving.run(save);
        }}
      >
        {!item && (
          <>
            <div className={controls.row}>
              <label htmlFor={`${id}-in`} className={controls.label}>
                Namespace
              </label>
              <input
                id={`${id}-in`}
                className={controls.field}
                autoComplete="off"
                placeholder="users / ada"
                value={where}
                aria-describedby={`${id}-in-note`}
                onChange={(event) => setWhere(event.target.value)}
              />
              <p id={`${id}-in-note`} className={controls.help}>
                Labels separated by /, from general to specific. A namespace that does not exist is created.
              </p>
            </div>
            <div className={controls.row}>
              <label htmlFor={`${id}-key`} className={controls.label}>
                Key
              </label>
              <input
                id={`${id}-key`}
                className={controls.field}
                autoComplete="off"
                required
                value={key}
                aria-describedby={`${id}-key-note`}
                onChange={(event) => setKey(event.target.value)}
              />
              <p id={`${id}-key-note`} className={controls.help}>
                An item of the same namespace and key is replaced.
              </p>
            </div>
          </>
        )}
        <div className={controls.row}>
          <label htmlFor={`${id}-value`} className={controls.label}>
            Value
          </label>
          <textarea
            id={`${id}-value`}
            className={`${controls.field} ${controls.json}`}
            rows={Math.min(20, Math.max(6, text.split("\n").length + 1))}
            spellCheck={false}
            value={text}
            aria-describedby={`${id}-value-note`}
            onChange={(event) => setText(event.target.value)}
          />
          <p id={`${id}-value-note`} className={controls.help}>
            A JSON object.
          </p>
        </div>
        <div className={controls.row}>
          <label htmlFor={`${id}-ttl`} className={controls.label}>
            Time to live (minutes)
          </label>
          <input
            id={`${id}-ttl`}
            className={controls.field}
            type="number"
            min="0.1"
            step="any"
            value={ttl}
            aria-describedby={`${id}-ttl-note`}
            onChange={(event) => setTtl(event.target.value)}
          />
          <p id={`${id}-ttl-note`} className={controls.help}>
            Counted from this write. Empty: the default of the deployment, or no expiry.
          </p>
        </div>
        <Trouble text={saving.trouble} />
        {saving.refusal !== undefined && <p className={work.note}>{saving.refusal}.</p>}
        <div className={work.acts}>
          <Button look="filled" type="submit" {...saving.button}>
            Write item
          </Button>
          <Button onClick={() => onDone()}>Cancel</Button>
        </div>
      </form>
    </section>
  );
}
