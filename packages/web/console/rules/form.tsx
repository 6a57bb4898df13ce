/** The form of a rule: a new one, or one that is there. */
import { useState } from "react";
import { useAction } from "../../api/me.ts";
import { FilterInput } from "../../resources/FilterInput.tsx";
import { Form, Input, More } from "../../resources/Form.tsx";
import parts from "../../resources/parts.module.css";
import { ProjectSelect } from "../../resources/ProjectSelect.tsx";
import work from "../../resources/work.module.css";
import { Actions } from "./Actions.tsx";
import type { Draft } from "./draft.ts";
import type { FormProps } from "../../resources/NewPage.tsx";
import type { Rule } from "./types.ts";

export function RuleForm({ row, start, onSave, onCancel }: FormProps<Rule, Draft>) {
  const action = useAction("traces.write");
  const [draft, setDraft] = useState(start);
  const set = (change: Partial<Draft>) => setDraft((now) => ({ ...now, ...change }));
  return (
    <div className={work.form}>
      <Form
        action={action}
        submit={row ? "Save rule" : "Create rule"}
        onSubmit={() => onSave(draft)}
        onCancel={onCancel}
      >
        <Input label="Name" maxLength={200} value={draft.name} onChange={({ target }) => set({ name: target.value })} />
        <div className={parts.pair}>
          <ProjectSelect
            value={draft.project}
            fixed={row !== undefined}
            {...(row && { help: "The project of a rule does not change." })}
            onChange={(project) => set({ project })}
          />
          <Input
            label="Sampling rate, %"
            type="number"
            min={0}
            max={100}
            step="any"
            help="The share of the matching runs that the rule takes."
            value={draft.percent}
            onChange={({ target }) => set({ percent: target.value })}
          />
        </div>
        <FilterInput
          label="Filter"
          help="eq(is_root, true) takes whole traces. Empty: every run of the project."
          value={draft.filter}
          onChange={(filter) => set({ filter })}
        />
        <More title="Conditions on the trace" open={draft.traceFilter !== "" || draft.treeFilter !== ""}>
          <FilterInput
            label="Filter of the root"
            help="What must be true of the root of the run’s trace."
            value={draft.traceFilter}
            onChange={(traceFilter) => set({ traceFilter })}
          />
          <FilterInput
            label="Filter of any run"
            help="What must be true of any run of the run’s trace."
            value={draft.treeFilter}
            onChange={(treeFilter) => set({ treeFilter })}
          />
        </More>
        <Actions draft={draft} set={set} />
      </Form>
    </div>
  );
}
