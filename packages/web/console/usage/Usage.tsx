/** What the workspace holds, and what its model calls cost. Days are UTC days, as they are stored and charged. */
import { Link } from "wouter";
import { bytesText, costText, countText, quantityText } from "../../ui/format.ts";
import { Page } from "../../resources/Page.tsx";
import { useRange } from "../../resources/range.ts";
import { RangePicker } from "../../resources/RangePicker.tsx";
import css from "../../resources/parts.module.css";
import { Section } from "../../resources/Section.tsx";
import { monthText } from "../../ui/days.ts";
import { Loaded } from "../../resources/states.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { byProject, type ProjectSum } from "./metrics.ts";
import { type Group, useMonth, useSpent, useUsage } from "./queries.ts";
import { Spent } from "./Spent.tsx";
import { Stored } from "./Stored.tsx";

export default function Usage() {
  const [range] = useRange();
  const usage = useUsage(range);
  const spent = useSpent(range);
  return (
    <Page
      title="Usage and cost"
      purpose="What this workspace holds, and what its model calls cost. Days are whole UTC days."
      actions={<RangePicker />}
    >
      <Loaded query={usage} what="usage" rows={4}>
        {(held) => <Stored held={held} />}
      </Loaded>
      <Loaded query={spent} what="costs" rows={6}>
        {(data) => (
          <>
            <Section title="Cost">
              {!data.complete && (
                <p className={css.note}>
                  This time range has too many runs to count at once. The figures cover its newest days.
                </p>
              )}
              {data.total.total_tokens === 0 && data.models.length === 0 ? (
                <p className={css.note}>
                  No model was called in this time range. Costs come from the caller, or from the price of the model.
                </p>
              ) : (
                <Spent buckets={data.buckets} />
              )}
              <ThisMonth />
            </Section>
            {data.models.length > 0 && (
              <Section title="By model">
                <Table
                  label="Cost by model"
                  columns={MODELS}
                  rows={data.models.toSorted((a, b) => b.total_cost - a.total_cost || b.run_count - a.run_count)}
                  rowKey={({ key }) => key}
                />
              </Section>
            )}
          </>
        )}
      </Loaded>
      {usage.data && usage.data.traces.days.length > 0 && (
        <Section title="By project">
          <Table
            label="Usage by project"
            columns={PROJECTS}
            rows={byProject(usage.data.traces.days)}
            rowKey={({ id }) => id}
          />
        </Section>
      )}
    </Page>
  );
}

/** Of one line, so that nothing below moves when it arrives. */
function ThisMonth() {
  const { data } = useMonth();
  if (!data) return <p className={css.note}>…</p>;
  const { month, cost, expected, complete } = data;
  return (
    <p className={css.note}>
      {monthText(month)}: {complete ? "" : "at least "}
      {costText(cost)} so far
      {complete && expected !== undefined && `, about ${costText(expected)} by its end at the pace of the last days`}.
    </p>
  );
}

const MODELS: Column<Group>[] = [
  { id: "model", name: "Model", width: 140, kept: true, grows: true, cell: ({ key }) => key || "not named" },
  {
    id: "calls",
    name: "Calls",
    width: 80,
    end: true,
    fact: true,
    cell: ({ run_count }, isPhone) => (isPhone ? quantityText(run_count, "call") : countText(run_count)),
  },
  {
    id: "in",
    name: "Tokens in",
    width: 96,
    end: true,
    fact: true,
    cell: ({ prompt_tokens }, isPhone) => countText(prompt_tokens) + (isPhone ? " in" : ""),
  },
  {
    id: "out",
    name: "Tokens out",
    width: 96,
    end: true,
    fact: true,
    cell: ({ completion_tokens }, isPhone) => countText(completion_tokens) + (isPhone ? " out" : ""),
  },
  { id: "cost", name: "Cost", width: 96, kept: true, end: true, cell: (row) => costText(row.total_cost) },
];

const PROJECTS: Column<ProjectSum>[] = [
  {
    id: "project",
    name: "Project",
    width: 140,
    kept: true,
    grows: true,
    cell: ({ id, name }) => (name === null ? "deleted project" : <Link href={`/traces?project=${id}`}>{name}</Link>),
  },
  { id: "runs", name: "Runs", width: 96, kept: true, end: true, cell: ({ runs }) => countText(runs) },
  { id: "bytes", name: "Size", width: 96, kept: true, end: true, cell: ({ bytes }) => bytesText(bytes) },
];
