/** The rules of flow control, and what their keys have in use. */
import { useState } from "react";
import { useMay } from "../../api/me.ts";
import { Loaded } from "../../resources/states.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { Button } from "../../ui/Button.tsx";
import { Confirm } from "../../resources/Confirm.tsx";
import { countText } from "../../ui/format.ts";
import css from "../../resources/parts.module.css";
import { Section } from "../../resources/Fields.tsx";
import { Bar, EditActs } from "./cells.tsx";
import { useAssistantNames, limitsText, matchText } from "./labels.ts";
import { deleteRules, useRules, useRuleUses, putRule } from "./queries.ts";
import type { Rule, RuleUse } from "./types.ts";
import { ModalForm } from "../../resources/ModalForm.tsx";
import { Select } from "../../resources/Form.tsx";
import { draftOfRule, idIn, ruleBody } from "./draft.ts";
import { KeyField, MatchFields, Text } from "./MatchFields.tsx";

export function Rules() {
  const may = useMay();
  const rules = useRules();
  const nameAssistant = useAssistantNames();
  const [editing, setEditing] = useState<Rule | "new">();
  const [deleting, setDeleting] = useState<Rule>();
  const acts = may("flow.manage") ? actsColumn(setEditing, setDeleting) : [];
  return (
    <Section title="Rules" act={may("flow.manage") && <Button onClick={() => setEditing("new")}>New rule</Button>}>
      <Loaded query={rules} what="rules" rows={2}>
        {(rows) =>
          rows.length === 0 ? (
            <p className={css.note}>No rule limits the runs of this workspace.</p>
          ) : (
            <>
              <Table
                label="Rules"
                columns={[...ruleColumns(nameAssistant), ...acts]}
                rows={rows}
                rowKey={({ id }) => id}
              />
              <Uses rules={rows} />
            </>
          )
        }
      </Loaded>
      {editing && <RuleForm rule={editing === "new" ? undefined : editing} onClose={() => setEditing(undefined)} />}
      {deleting && (
        <Confirm
          title={`Delete the rule “${deleting.id}”?`}
          text="Runs that wait for it begin."
          act="Delete rule"
          needs="flow.manage"
          onAct={async () => deleteRules([deleting.id])}
          onClose={() => setDeleting(undefined)}
        />
      )}
    </Section>
  );
}

function Uses({ rules }: { rules: Rule[] }) {
  const uses = useRuleUses();
  return (
    <Loaded query={uses} what="use of the rules" rows={2}>
      {(rows) =>
        rows.length === 0 ? (
          <p className={css.note}>No key of a rule has anything in use.</p>
        ) : (
          <Table
            label="Use of the rules"
            columns={usageColumns(new Map(rules.map((rule) => [rule.id, rule])))}
            rows={rows}
            rowKey={({ rule, key }) => `${rule} ${key}`}
          />
        )
      }
    </Loaded>
  );
}

const ruleColumns = (nameAssistant: (assistant: string) => string): Column<Rule>[] => [
  { id: "id", name: "Rule", width: 120, kept: true, cell: ({ id }) => <span title={id}>{id}</span> },
  {
    id: "limits",
    name: "Limits",
    width: 120,
    kept: true,
    grows: true,
    cell: (rule) => <span title={limitsText(rule)}>{limitsText(rule)}</span>,
  },
  { id: "match", name: "Runs", width: 140, cell: ({ match }) => matchText(match, nameAssistant) },
  { id: "key", name: "Counts apart by", width: 120, cell: ({ key }) => (key === "workspace" ? "" : key) },
  {
    id: "source",
    name: "Source",
    width: 112,
    cell: ({ source }) => (source === "deployment" ? "langgraph.json" : "workspace"),
  },
];

const actsColumn = (onEdit: (rule: Rule) => void, onDelete: (rule: Rule) => void): Column<Rule>[] => [
  {
    id: "acts",
    name: "",
    width: 88,
    kept: true,
    end: true,
    cell: (rule) =>
      rule.source === "workspace" && (
        <EditActs id={rule.id} onEdit={() => onEdit(rule)} onDelete={() => onDelete(rule)} />
      ),
  },
];

const usageColumns = (rules: Map<string, Rule>): Column<RuleUse>[] => [
  { id: "rule", name: "Rule", width: 110, kept: true, cell: ({ rule }) => <span title={rule}>{rule}</span> },
  { id: "key", name: "Key", width: 96, grows: true, cell: ({ key }) => key || "all runs" },
  {
    id: "held",
    name: "Slots held",
    width: 150,
    kept: true,
    cell: ({ rule, key, held }) => (
      <OfLimit what={`Slots of ${rule} ${key}`} value={held} limit={rules.get(rule)?.concurrency} />
    ),
  },
  {
    id: "starts",
    name: "Starts this minute",
    width: 150,
    cell: ({ rule, key, starts_last_minute: value }) => (
      <OfLimit what={`Starts of ${rule} ${key}`} value={value} limit={rules.get(rule)?.starts_per_minute} />
    ),
  },
  {
    id: "tokens",
    name: "Tokens this minute",
    width: 170,
    cell: ({ rule, key, tokens_last_minute: value }) => (
      <OfLimit what={`Tokens of ${rule} ${key}`} value={value} limit={rules.get(rule)?.tokens_per_minute} />
    ),
  },
  { id: "waiting", name: "Wait", width: 64, kept: true, end: true, cell: ({ waiting }) => countText(waiting) },
];

function OfLimit({ what, value, limit }: { what: string; value: number; limit: number | undefined }) {
  if (limit === undefined) return value === 0 ? "" : countText(value);
  return <Bar label={what} value={value} limit={limit} text={`${countText(value)} of ${countText(limit)}`} />;
}

/** Creates a rule, or changes one. */
function RuleForm({ rule, onClose }: { rule: Rule | undefined; onClose: () => void }) {
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
