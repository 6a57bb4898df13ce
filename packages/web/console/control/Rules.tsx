/** The rules of flow control, and what their keys have in use. */
import { useState } from "react";
import { useMay } from "../../api/me.ts";
import { Loaded } from "../../resources/states.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { Button } from "../../ui/Button.tsx";
import { Confirm } from "../../resources/Confirm.tsx";
import { countText } from "../../ui/format.ts";
import css from "../../resources/parts.module.css";
import { Section } from "../../resources/Section.tsx";
import { Bar } from "./Bar.tsx";
import { EditActs } from "./EditActs.tsx";
import { useAssistantNames } from "./names.ts";
import { deleteRules, useRules, useRuleUses } from "./queries.ts";
import { RuleForm } from "./RuleForm.tsx";
import type { Rule, RuleUse } from "./types.ts";
import { limitsText, matchText } from "./labels.ts";

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
