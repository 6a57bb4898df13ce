import { useState } from "react";
import type { Assistant } from "../../api/types.ts";
import controls from "../../ui/controls.module.css";
import css from "./Header.module.css";

export function AssistantList({
  assistants,
  current,
  begun,
  onChoose,
}: {
  assistants: Assistant[];
  current: Assistant;
  /** The thread has run: another assistant means another thread. */
  begun: boolean;
  onChoose: (assistant: Assistant) => void;
}) {
  const [search, setSearch] = useState("");
  const words = search.trim().toLowerCase();
  const found = assistants.filter((one) => `${one.name} ${one.graph_id}`.toLowerCase().includes(words));
  return (
    <>
      <div className={css.search}>
        <input
          type="search"
          className={controls.field}
          placeholder="Search assistants"
          aria-label="Search assistants"
          value={search}
          onChange={(event) => setSearch(event.target.value)}
        />
      </div>
      <ul className={css.list}>
        {found.map((one) => (
          <li key={one.assistant_id}>
            <button
              type="button"
              className={css.choice}
              aria-pressed={one.assistant_id === current.assistant_id}
              onClick={() => onChoose(one)}
            >
              <span>
                {begun && one.assistant_id !== current.assistant_id ? `New thread with ${one.name}` : one.name}
                <small>v{one.version}</small>
              </span>
              <small>{one.description ?? `Graph ${one.graph_id}`}</small>
            </button>
          </li>
        ))}
      </ul>
      {found.length === 0 && <p className={css.note}>No assistants match this search.</p>}
    </>
  );
}
