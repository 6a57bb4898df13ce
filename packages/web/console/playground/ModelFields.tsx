/** Who answers in a column: a model with its settings, or an assistant. */
import { useId } from "react";
import type { Assistant } from "../../api/types.ts";
import controls from "../../ui/controls.module.css";
import work from "../../resources/work.module.css";
import { type Column, type Provider, PROVIDERS } from "./play.ts";
import css from "./playground.module.css";
import type { KnownModel } from "./queries.ts";
import { FIELDS } from "./request.ts";

interface Props {
  column: Column;
  number: number;
  models: KnownModel[];
  assistants: Assistant[];
  apiKey: string;
  onKey: (key: string) => void;
  onChange: (next: Partial<Column>) => void;
}

export function ModelFields({ column, number, models, assistants, apiKey, onKey, onChange }: Props) {
  const { provider = "offline", model, assistant } = column;
  const choose = (value: string) => {
    if (value.startsWith("assistant ")) return onChange({ provider: "assistant", assistant: value.slice(10) });
    const known = models.find((one) => one.provider === value);
    const isOwn = column.provider === value && model !== "";
    onChange({ provider: value as Provider, model: isOwn ? model : (known?.model ?? "") });
  };
  const known = models.find((one) => one.provider === provider);
  const lacks = known?.is_available === false && !(provider === "openai" && (apiKey !== "" || column.baseUrl !== ""));
  return (
    <>
      <select
        className={controls.field}
        aria-label={`Who answers in column ${number}`}
        value={provider === "assistant" ? `assistant ${assistant}` : provider}
        onChange={(event) => choose(event.target.value)}
      >
        <optgroup label="Models">
          {Object.entries(PROVIDERS).map(([value, words]) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </optgroup>
        <optgroup label="Assistants">
          {assistants.map(({ assistant_id, name }) => (
            <option key={assistant_id} value={`assistant ${assistant_id}`}>
              {name}
            </option>
          ))}
        </optgroup>
      </select>
      {provider !== "assistant" && provider !== "offline" && (
        <input
          className={controls.field}
          aria-label={`Model of column ${number}`}
          value={model}
          placeholder="Name of the model"
          autoComplete="off"
          onChange={(event) => onChange({ model: event.target.value })}
        />
      )}
      {lacks && (
        <p className={work.note}>
          {provider === "openai"
            ? "The deployment has no OPENAI_API_KEY. Give a key or an address under Settings."
            : "The deployment has no Workers AI."}
        </p>
      )}
      {provider === "assistant" ? (
        <p className={work.note}>Runs without a thread, with its own model and tools.</p>
      ) : (
        <Settings column={column} apiKey={apiKey} onKey={onKey} onChange={onChange} />
      )}
    </>
  );
}

function Settings({ column, apiKey, onKey, onChange }: Omit<Props, "models" | "assistants" | "number">) {
  const id = useId();
  const { settings, more, provider, baseUrl } = column;
  return (
    <details className={css.settings}>
      <summary>Settings</summary>
      <div className={css.fields}>
        {FIELDS.map(([name, label, placeholder]) => (
          <div key={name} className={controls.row}>
            <label htmlFor={`${id}-${name}`} className={controls.label}>
              {label}
            </label>
            <input
              id={`${id}-${name}`}
              className={controls.field}
              inputMode="decimal"
              autoComplete="off"
              placeholder={placeholder}
              value={settings[name] ?? ""}
              onChange={(event) => onChange({ settings: { ...settings, [name]: event.target.value } })}
            />
          </div>
        ))}
        <div className={controls.row}>
          <label htmlFor={`${id}-more`} className={controls.label}>
            Further settings as JSON
          </label>
          <textarea
            id={`${id}-more`}
            className={`${controls.field} ${controls.json}`}
            rows={2}
            spellCheck={false}
            placeholder='{"seed": 1}'
            value={more}
            onChange={(event) => onChange({ more: event.target.value })}
          />
        </div>
        {provider === "openai" && (
          <>
            <div className={controls.row}>
              <label htmlFor={`${id}-url`} className={controls.label}>
                Address
              </label>
              <input
                id={`${id}-url`}
                className={controls.field}
                inputMode="url"
                autoComplete="off"
                placeholder="https://api.example.com/v1"
                value={baseUrl}
                onChange={(event) => onChange({ baseUrl: event.target.value })}
              />
            </div>
            <div className={controls.row}>
              <label htmlFor={`${id}-key`} className={controls.label}>
                API key
              </label>
              <input
                id={`${id}-key`}
                type="password"
                className={controls.field}
                autoComplete="off"
                value={apiKey}
                aria-describedby={`${id}-note`}
                onChange={(event) => onKey(event.target.value)}
              />
              <p id={`${id}-note`} className={controls.help}>
                It is not kept: type it again after a reload.
              </p>
            </div>
          </>
        )}
      </div>
    </details>
  );
}
