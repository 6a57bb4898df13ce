import { useState } from "react";
import { ModalForm } from "../../resources/ModalForm.tsx";
import { Select } from "../../resources/Form.tsx";
import css from "../../resources/parts.module.css";
import { draftOfRule, idIn, ruleBody } from "./draft.ts";
import { KeyField, MatchFields, Text } from "./MatchFields.tsx";
import { putRule } from "./queries.ts";
import type { Rule } from "./types.ts";

/** Creates a rule, or changes one. */
export function RuleForm({ rule, onClose }: { rule: Rule | undefined; onClose: () => void }) {
  const [draft, setDraft] = useState(() => draftOfRule(rule));
  const set = (name: string, value: string) => setDraft((now) => ({ ...now, [name]: value }));
  const fields = { draft, set };
  return (
    <ModalForm
      title={rule ? `Rule ${rule.id}` : "New rule"}
      text="Runs past its limits wait as pending, and begin in turn."
      submit={rule ? "Save rule" : "Create rule"}
      needs="flow.manage"
      onSubmit={async () => putRule(idIn(draft), ruleBody(draft))}
      onClose={onClose}
    >
      {!rule && <Text name="id" label="ID" help="a-z, 0-9, - and _" {...fields} />}
      <MatchFields {...fields} />
      <div className={css.pair}>
        <KeyField name="key" label="Counts apart by" none="Empty: all runs together" {...fields} />
        <Text name="concurrency" label="Runs at once" numeric {...fields} />
        <Text name="starts_per_minute" label="Starts a minute" numeric {...fields} />
        <Text name="tokens_per_minute" label="Tokens a minute" numeric {...fields} />
        <Text name="priority" label="Priority" help="0 to 9, 9 first." numeric {...fields} />
        <Text name="debounce_seconds" label="Debounce, seconds" numeric {...fields} />
        <Select label="One open run" value={draft.singleton} onChange={(event) => set("singleton", event.target.value)}>
          <option value="">No limit</option>
          <option value="first">The first one stays</option>
          <option value="last">The last one replaces it</option>
        </Select>
        <Select label="Paused" value={draft.paused} onChange={(event) => set("paused", event.target.value)}>
          <option value="">No</option>
          <option value="true">Yes: no run begins</option>
        </Select>
        <KeyField name="fair_by" label="Turns by" none="Empty: by age" {...fields} />
      </div>
    </ModalForm>
  );
}
