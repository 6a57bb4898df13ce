/** Popovers of the header of a conversation: the assistants, and the context. */
import { Popover } from "radix-ui";
import { type ReactNode, useState, useEffect, useId } from "react";
import type { Assistant } from "../../api/types.ts";
import css from "./Header.module.css";
import controls from "../../ui/controls.module.css";
import { useSchemas } from "../../api/queries.ts";
import { Button } from "../../ui/Button.tsx";
import { FieldInput } from "../../ui/FieldInput.tsx";
import { type Field, fieldOfSchema, fromText, toText } from "../../ui/fields.ts";

export function AssistantsPopover({
  trigger,
  assistants,
  current,
  begun,
  onChoose,
}: {
  trigger: ReactNode;
  assistants: Assistant[];
  current: Assistant;
  /** The thread has run: another assistant means another thread. */
  begun: boolean;
  onChoose: (assistant: Assistant) => void;
}) {
  const [open, setOpen] = useState(true);
  return (
    <Opened label="Assistants" trigger={trigger} open={open} onOpen={setOpen}>
      <AssistantList
        assistants={assistants}
        current={current}
        begun={begun}
        onChoose={(next) => {
          setOpen(false);
          if (next.assistant_id !== current.assistant_id) onChoose(next);
        }}
      />
    </Opened>
  );
}

export function ContextPopover({
  trigger,
  assistant,
  context,
  onContext,
}: {
  trigger: ReactNode;
  assistant: Assistant;
  context: Record<string, unknown>;
  onContext: (context: Record<string, unknown>) => void;
}) {
  const [open, setOpen] = useState(true);
  return (
    <Opened label="Context" trigger={trigger} open={open} onOpen={setOpen}>
      <ContextForm assistant={assistant} context={context} onContext={onContext} />
    </Opened>
  );
}

function Opened({
  label,
  trigger,
  open,
  onOpen,
  children,
}: {
  label: string;
  trigger: ReactNode;
  open: boolean;
  onOpen: (open: boolean) => void;
  children: ReactNode;
}) {
  return (
    <Popover.Root open={open} onOpenChange={onOpen}>
      <Popover.Trigger asChild>{trigger}</Popover.Trigger>
      <Popover.Portal>
        <Popover.Content className={css.popover} align="end" collisionPadding={8} aria-label={label}>
          {children}
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}

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
