/** Budgets, what is spent of them today, and where prices come from. */
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
import { BudgetForm } from "./BudgetForm.tsx";
import { EditActs } from "./EditActs.tsx";
import { useAssistantNames } from "./names.ts";
import { deleteBudget, useBudgets, useBudgetUses, usePriceSources } from "./queries.ts";
import type { Budget, BudgetUse } from "./types.ts";
import { amountText, matchText } from "./labels.ts";

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
