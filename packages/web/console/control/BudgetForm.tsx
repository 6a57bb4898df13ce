import { useState } from "react";
import { ModalForm } from "../../resources/ModalForm.tsx";
import { Select } from "../../resources/Form.tsx";
import css from "../../resources/parts.module.css";
import { budgetBody, draftOfBudget, idIn } from "./draft.ts";
import { KeyField, MatchFields, Text } from "./MatchFields.tsx";
import { putBudget } from "./queries.ts";
import type { Budget } from "./types.ts";

/** Creates a budget, or changes one. */
export function BudgetForm({ budget, onClose }: { budget: Budget | undefined; onClose: () => void }) {
  const [draft, setDraft] = useState(() => draftOfBudget(budget));
  const set = (name: string, value: string) => setDraft((now) => ({ ...now, [name]: value }));
  const fields = { draft, set };
  return (
    <ModalForm
      title={budget ? `Budget ${budget.id}` : "New budget"}
      text="It counts for runs that are made from now on."
      submit={budget ? "Save budget" : "Create budget"}
      needs="flow.manage"
      onSubmit={async () => putBudget(idIn(draft), budgetBody(draft))}
      onClose={onClose}
    >
      {!budget && <Text name="id" label="ID" help="a-z, 0-9, - and _" {...fields} />}
      <div className={css.pair}>
        <Text name="limit" label="Limit" numeric {...fields} />
        <Select label="Unit" value={draft.unit} onChange={(event) => set("unit", event.target.value)}>
          <option value="dollars">Dollars</option>
          <option value="tokens">Tokens</option>
        </Select>
        <Select label="Per" value={draft.per} onChange={(event) => set("per", event.target.value)}>
          <option value="run">Run</option>
          <option value="thread">Thread</option>
          <option value="day">Day (UTC)</option>
        </Select>
        <Select label="At the limit" value={draft.at_limit} onChange={(event) => set("at_limit", event.target.value)}>
          <option value="ask">Ask a person</option>
          <option value="end">End the run</option>
        </Select>
        {draft.per === "day" && (
          <KeyField name="key" label="Counts apart by" none="Empty: all runs together" {...fields} />
        )}
        <Text name="webhook" label="Webhook at 80 %" {...fields} />
      </div>
      <MatchFields {...fields} />
    </ModalForm>
  );
}
