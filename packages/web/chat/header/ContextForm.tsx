import { useEffect, useId, useState } from "react";
import { useSchemas } from "../../api/queries.ts";
import type { Assistant } from "../../api/types.ts";
import { Button } from "../../ui/Button.tsx";
import { FieldInput } from "../../ui/FieldInput.tsx";
import { type Field, fieldOfSchema, fromText, toText } from "../../ui/fields.ts";
import css from "./Header.module.css";

/** The context of the graph, in addition to the messages. An empty field keeps the assistant's value. */
export function ContextForm({
  assistant,
  context,
  onContext,
}: {
  assistant: Assistant;
  context: Record<string, unknown>;
  onContext: (context: Record<string, unknown>) => void;
}) {
  const schemas = useSchemas(assistant.assistant_id);
  const schema = schemas.data?.context_schema ?? schemas.data?.config_schema;
  const fields = Object.entries(schema?.properties ?? {}).map(([name, property]) => fieldOfSchema(name, property));
  return (
    <div className={css.form}>
      <h2>Context</h2>
      {schemas.isPending && <p className={css.note}>Loading…</p>}
      {schemas.error && <p className={css.note}>The fields could not be loaded. {schemas.error.message}</p>}
      {schemas.data && fields.length === 0 && <p>This graph takes no context.</p>}
      {fields.length > 0 && (
        <Fields
          key={assistant.assistant_id}
          fields={fields}
          assistant={assistant}
          context={context}
          onContext={onContext}
        />
      )}
    </div>
  );
}

function Fields({
  fields,
  assistant,
  context,
  onContext,
}: {
  fields: Field[];
  assistant: Assistant;
  context: Record<string, unknown>;
  onContext: (context: Record<string, unknown>) => void;
}) {
  const id = useId();
  const [texts, setTexts] = useState<Record<string, string>>(() =>
    Object.fromEntries(fields.map((field) => [field.name, toText(context[field.name], field.kind)])),
  );
  const read = fields.map((field) => ({ field, ...fromText(texts[field.name] ?? "", field.kind) }));
  const set = read.filter((one) => one.error === undefined && one.value !== undefined && texts[one.field.name] !== "");
  const next = JSON.stringify(Object.fromEntries(set.map((one) => [one.field.name, one.value])));
  useEffect(() => onContext(JSON.parse(next) as Record<string, unknown>), [next, onContext]);
  return (
    <>
      {read.map(({ field, error }) => (
        <FieldInput
          key={field.name}
          id={`${id}-${field.name}`}
          field={field}
          text={texts[field.name] ?? ""}
          placeholder={assistant.context?.[field.name]}
          error={error}
          changed={(texts[field.name] ?? "") !== ""}
          onText={(text) => setTexts({ ...texts, [field.name]: text })}
        />
      ))}
      <div className={css.foot}>
        <Button disabled={set.length === 0} onClick={() => setTexts({})}>
          Reset
        </Button>
      </div>
    </>
  );
}
