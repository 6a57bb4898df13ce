/** Control of the workspace's runs: who waits, rules, pauses, budgets, crashed runs, and threads that a deploy left behind. */
import { useMay } from "../../api/me.ts";
import { Page } from "../../resources/Page.tsx";
import { Budgets } from "./Budgets.tsx";
import css from "./control.module.css";
import { DeployCheck } from "./DeployCheck.tsx";
import { Died } from "./Died.tsx";
import { PauseButton, pausesOn, type Target } from "./PauseButton.tsx";
import { Rules } from "./Rules.tsx";
import { Waiting } from "./Waiting.tsx";
import { Link } from "wouter";
import { type Column, Table } from "../../ui/Table.tsx";
import { Section } from "../../resources/Fields.tsx";
import { useAssistantNames } from "./labels.ts";
import { useRules } from "./queries.ts";

export default function Control() {
  const may = useMay();
  return (
    <Page
      title="Control"
      purpose="Limit, pause and resume runs, and set budgets."
      actions={<PauseButton target={{}} what="workspace" />}
      aside={
        <>
          <h2>Rules and budgets</h2>
          <p>
            Those of langgraph.json are changed there and with a deploy. Those of the workspace have an API:{" "}
            <a href="/docs/flow-control">flow control</a>, <a href="/docs/budgets">budgets</a>.
          </p>
          <h2>Deploys</h2>
          <p>
            <code>weir deploy --check</code> compares waiting threads with a new version before it is deployed. See{" "}
            <a href="/docs/deploys">Deploy while threads wait</a>.
          </p>
        </>
      }
    >
      <div className={css.page}>
        <Waiting />
        <Pauses />
        <Rules />
        <Budgets />
        {may("traces.read") && <Died />}
        {may("threads.read") && <DeployCheck />}
      </div>
    </Page>
  );
}

/** The pauses, with a button that resumes each. */
export function Pauses() {
  const rules = useRules();
  const nameAssistant = useAssistantNames();
  const targets = new Map<string, Target>();
  for (const { match = {} } of rules.data ?? []) {
    const { assistant, thread } = match;
    if (pausesOn(rules.data ?? [], { assistant, thread }).length > 0)
      targets.set(JSON.stringify([assistant, thread]), { assistant, thread });
  }
  if (targets.size === 0) return null;
  return (
    <Section title="Paused">
      <Table label="Paused" columns={buildColumns(nameAssistant)} rows={[...targets]} rowKey={([key]) => key} />
    </Section>
  );
}

const buildColumns = (nameAssistant: (assistant: string) => string): Column<[string, Target]>[] => [
  {
    id: "what",
    name: "What",
    width: 120,
    kept: true,
    grows: true,
    cell: ([, { assistant, thread }]) => {
      if (thread !== undefined) return <Link href={`/console/threads/${thread}`}>Thread {thread.slice(0, 8)}</Link>;
      if (assistant === undefined) return "Workspace";
      return <Link href={`/console/assistants/${assistant}`}>{nameAssistant(assistant)}</Link>;
    },
  },
  {
    id: "act",
    name: "",
    width: 180,
    kept: true,
    end: true,
    cell: ([, target]) => (
      <PauseButton
        target={target}
        what={target.thread !== undefined ? "thread" : target.assistant !== undefined ? "assistant" : "workspace"}
      />
    ),
  },
];
