/** The pauses, with a button that resumes each. */
import { Link } from "wouter";
import { type Column, Table } from "../../ui/Table.tsx";
import { Section } from "../../resources/Fields.tsx";
import { useAssistantNames } from "./labels.ts";
import { PauseButton, pausesOn, type Target } from "./PauseButton.tsx";
import { useRules } from "./queries.ts";

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
