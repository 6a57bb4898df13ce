import { useId, useState } from "react";
import { useAction } from "../../api/me.ts";
import { type Field, fromText } from "../../ui/fields.ts";
import { Button } from "../../ui/Button.tsx";
import { FieldInput } from "../../ui/FieldInput.tsx";
import work from "../../resources/work.module.css";
import css from "./assistants.module.css";
import type { Draft } from "./draft.ts";
import { Trouble } from "../../resources/Trouble.tsx";

const NAME: Field = { name: "name", label: "Name", kind: "text" };
const DESCRIPTION: Field = { name: "description", label: "Description", kind: "long" };
const CONFIG: Field = {
  name: "config",
  label: "Run configuration",
  kind: "json",
  help: "tags, recursion_limit and configurable, as a JSON object.",
};
const METADATA: Field = {
  name: "metadata",
  label: "Metadata",
  kind: "json",
  help: "A JSON object. Members are added or replaced; none is removed.",
};

/** The form of a new assistant, or of the next version of one. */
export function Form({
  start,
  fields,
  action,
  changedOnly = false,
  onSave,
  onCancel,
}: {
  start: Draft;
  /** Fields of the context. */
  fields: Field[];
  action: string;
  /** There is something to save only after a change. */
  changedOnly?: boolean;
  /** Throws what the server refuses. */
  onSave: (draft: Draft) => Promise<void>;
  onCancel?: () => void;
}) {
  const id = useId();
  const [draft, setDraft] = useState(start);
  const saving = useAction("assistants.write");
  const isChanged = JSON.stringify(draft) !== JSON.stringify(start);
  const shared = (field: Field, text: string, set: (text: string) => void) => (
    <FieldInput key={field.name} id={`${id}-${field.name}`} field={field} text={text} onText={set} />
  );
  return (
    <form
      className={work.form}
      onSubmit={(event) => {
        event.preventDefault();
        void saving.run(() => onSave(draft));
      }}
    >
      {shared(NAME, draft.name, (name) => setDraft({ ...draft, name }))}
      {shared(DESCRIPTION, draft.description, (description) => setDraft({ ...draft, description }))}
      {fields.map((field) => {
        const text = draft.texts[field.name] ?? "";
        return (
          <FieldInput
            key={field.name}
            id={`${id}-context-${field.name}`}
            field={field}
            text={text}
            error={fromText(text, field.kind).error}
            changed={changedOnly && text !== start.texts[field.name]}
            onText={(next) => setDraft({ ...draft, texts: { ...draft.texts, [field.name]: next } })}
          />
        );
      })}
      {fields.length === 0 && (
        <p className={work.none}>This graph declares no context, so it has no fields of its own.</p>
      )}
      <details className={css.more}>
        <summary>Run configuration and metadata</summary>
        <div className={work.form}>
          {shared(CONFIG, draft.config, (config) => setDraft({ ...draft, config }))}
          {shared(METADATA, draft.metadata, (metadata) => setDraft({ ...draft, metadata }))}
        </div>
      </details>
      <Trouble text={saving.trouble} />
      {saving.refusal !== undefined && <p className={work.note}>{saving.refusal}.</p>}
      <div className={work.acts}>
        <Button
          look="filled"
          type="submit"
          title={saving.refusal}
          disabled={saving.button.disabled || (changedOnly && !isChanged) || draft.name.trim() === ""}
        >
          {action}
        </Button>
        {onCancel ? (
          <Button onClick={onCancel}>Cancel</Button>
        ) : (
          <Button disabled={!isChanged} onClick={() => setDraft(start)}>
            Discard changes
          </Button>
        )}
      </div>
    </form>
  );
}
