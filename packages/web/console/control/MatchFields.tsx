/** The fields that say which runs a rule or a budget is for, and what it counts apart. */
import { useAssistants } from "../../api/queries.ts";
import { Input, Select } from "../../resources/Form.tsx";
import css from "../../resources/parts.module.css";
import type { Draft } from "./draft.ts";

const KEYS = ["assistant", "user", "model"];

interface FieldsProps {
  draft: Draft;
  set: (name: string, value: string) => void;
}

export function MatchFields({ draft, set }: FieldsProps) {
  const assistants = useAssistants();
  const { assistant = "" } = draft;
  const known = assistants.data?.some(({ assistant_id }) => assistant_id === assistant) ?? false;
  return (
    <div className={css.pair}>
      <Select label="Assistant" value={assistant} onChange={(event) => set("assistant", event.target.value)}>
        <option value="">All assistants</option>
        {assistant !== "" && !known && <option value={assistant}>{assistant}</option>}
        {assistants.data?.map((one) => (
          <option key={one.assistant_id} value={one.assistant_id}>
            {one.name}
          </option>
        ))}
      </Select>
      <Text name="user" label="User" draft={draft} set={set} />
      <Text name="model" label="Model" draft={draft} set={set} />
      <Text name="thread" label="Thread ID" draft={draft} set={set} />
      <Text name="metadata" label="Metadata" help={'JSON, such as {"plan": "free"}.'} draft={draft} set={set} />
    </div>
  );
}

export function Text({
  name,
  label,
  help,
  numeric = false,
  draft,
  set,
}: FieldsProps & { name: string; label: string; help?: string; numeric?: boolean }) {
  return (
    <Input
      label={label}
      help={help}
      inputMode={numeric ? "decimal" : undefined}
      value={draft[name] ?? ""}
      onChange={(event) => set(name, event.target.value)}
    />
  );
}

/** The key that counts apart: one of the usual keys, or a member of the metadata. */
export function KeyField({
  name,
  label,
  none,
  draft,
  set,
}: FieldsProps & { name: string; label: string; none: string }) {
  const value = draft[name] ?? "";
  return (
    <>
      <Input
        label={label}
        help={`${none}, or assistant, user, model, metadata.<name>.`}
        list={`${name}-keys`}
        value={value}
        onChange={(event) => set(name, event.target.value)}
      />
      <datalist id={`${name}-keys`}>
        {KEYS.map((key) => (
          <option key={key} value={key} />
        ))}
      </datalist>
    </>
  );
}
