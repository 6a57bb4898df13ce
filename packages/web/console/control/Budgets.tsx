/** Budgets, what is spent of them today, and where prices come from. */
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
import { useAssistantNames, amountText, matchText } from "./labels.ts";
import { deleteBudget, useBudgets, useBudgetUses, usePriceSources, putBudget } from "./queries.ts";
import type { Budget, BudgetUse } from "./types.ts";
import { ModalForm } from "../../resources/ModalForm.tsx";
import { Select } from "../../resources/Form.tsx";
import { budgetBody, draftOfBudget, idIn } from "./draft.ts";
import { KeyField, MatchFields, Text } from "./MatchFields.tsx";

export function Budgets() {
  const may = useMay();
  const budgets = useBudgets();
  const uses = useBudgetUses();
  const nameAssistant = useAssistantNames();
  const [editing, setEditing] = useState<Budget | "new">();
  const [deleting, setDeleting] = useState<Budget>();
  const acts = may("flow.manage") ? actsColumn(setEditing, setDeleting) : [];
  return (
    <Section title="Budgets" act={may("flow.manage") && <Button onClick={() => setEditing("new")}>New budget</Button>}>
      <Loaded query={budgets} what="budgets" rows={2}>
        {(rows) =>
          rows.length === 0 ? (
            <p className={css.note}>No budget limits the runs of this workspace.</p>
          ) : (
            <Table
              label="Budgets"
              columns={[...budgetColumns(nameAssistant), ...acts]}
              rows={rows}
              rowKey={({ id }) => id}
            />
          )
        }
      </Loaded>
      <Loaded query={uses} what="spending of today" rows={2}>
        {(rows) =>
          rows.length > 0 && (
            <Table
              label="Spent today"
              columns={USES}
              rows={rows}
              rowKey={({ budget, key, unit }) => `${budget} ${key} ${unit}`}
            />
          )
        }
      </Loaded>
      <Prices />
      {editing && <BudgetForm budget={editing === "new" ? undefined : editing} onClose={() => setEditing(undefined)} />}
      {deleting && (
        <Confirm
          title={`Delete the budget “${deleting.id}”?`}
          text="Runs that are made from now on do not count for it."
          act="Delete budget"
          needs="flow.manage"
          onAct={async () => deleteBudget(deleting.id)}
          onClose={() => setDeleting(undefined)}
        />
      )}
    </Section>
  );
}

function Prices() {
  const { data } = usePriceSources();
  if (!data) return null;
  return (
    <p className={css.note}>
      Prices of models: {countText(data.workspace)} of this workspace, {countText(data.deployment)} of the deployment,{" "}
      {countText(data.list)} of the <a href="/docs/prices">list</a>. The first that matches a model counts.
    </p>
  );
}

const limitText = ({ dollars, tokens = 0, per }: Budget): string =>
  `${dollars === undefined ? amountText(tokens, "tokens") : amountText(dollars, "dollars")} a ${per}`;

const budgetColumns = (nameAssistant: (assistant: string) => string): Column<Budget>[] => [
  { id: "id", name: "Budget", width: 120, kept: true, cell: ({ id }) => <span title={id}>{id}</span> },
  { id: "limit", name: "Limit", width: 130, kept: true, grows: true, cell: limitText },
  { id: "match", name: "Runs", width: 140, cell: ({ match }) => matchText(match, nameAssistant) },
  { id: "key", name: "Counts apart by", width: 120, cell: ({ key = "" }) => (key === "workspace" ? "" : key) },
  {
    id: "at",
    name: "At the limit",
    width: 112,
    cell: ({ at_limit }) => (at_limit === "ask" ? "asks a person" : "ends the run"),
  },
  {
    id: "source",
    name: "Source",
    width: 112,
    cell: ({ source }) => (source === "deployment" ? "langgraph.json" : "workspace"),
  },
];

const actsColumn = (onEdit: (budget: Budget) => void, onDelete: (budget: Budget) => void): Column<Budget>[] => [
  {
    id: "acts",
    name: "",
    width: 88,
    kept: true,
    end: true,
    cell: (budget) =>
      budget.source === "workspace" && (
        <EditActs id={budget.id} onEdit={() => onEdit(budget)} onDelete={() => onDelete(budget)} />
      ),
  },
];

const USES: Column<BudgetUse>[] = [
  { id: "budget", name: "Budget", width: 110, kept: true, cell: ({ budget }) => <span title={budget}>{budget}</span> },
  { id: "key", name: "Key", width: 96, cell: ({ key }) => key || "all runs" },
  {
    id: "spent",
    name: "Spent today",
    width: 180,
    kept: true,
    grows: true,
    cell: ({ budget, key, spent, limit, unit }) => (
      <Bar
        label={`Spent of ${budget} ${key}`}
        value={spent}
        limit={limit}
        text={`${amountText(spent, unit)} of ${amountText(limit, unit)}`}
      />
    ),
  },
];

/** Creates a budget, or changes one. */
function BudgetForm({ budget, onClose }: { budget: Budget | undefined; onClose: () => void }) {
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
