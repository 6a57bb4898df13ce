/** Subagents as cards in the place where they were called. What they say is fetched only for the one that is opened. */
import type { SubagentDiscoverySnapshot } from "@langchain/react";
import css from "./parts.module.css";
import { resultText, readText } from "./messages.ts";
import { STATE_WORDS, StateGlyph } from "./Tools.tsx";
import type { ToolCall } from "./turns.ts";
import { durationText } from "../../ui/format.ts";

export type Subagent = SubagentDiscoverySnapshot;

export function Subagents({
  calls,
  took,
  known,
  opened,
  onOpen,
}: {
  calls: ToolCall[];
  /** Seconds from the calls to the last result, where both are in checkpoints. */
  took: number | undefined;
  known: ReadonlyMap<string, Subagent>;
  opened: string | undefined;
  onOpen: (id: string) => void;
}) {
  const done = calls.filter((call) => call.state === "done").length;
  return (
    <div>
      {calls.length > 1 && (
        <p className={css.crew}>
          {done < calls.length ? `${done} of ${calls.length} subagents done` : `${calls.length} subagents`}
          {done === calls.length && took !== undefined && ` · ${durationText(took)}`}
        </p>
      )}
      <ul className={css.cards}>
        {calls.map((call) => (
          <li key={call.id}>
            <Card call={call} agent={known.get(call.id)} opened={opened === call.id} onOpen={onOpen} />
          </li>
        ))}
      </ul>
    </div>
  );
}

function Card({
  call,
  agent,
  opened,
  onOpen,
}: {
  call: ToolCall;
  agent: Subagent | undefined;
  opened: boolean;
  onOpen: (id: string) => void;
}) {
  const said = call.args.subagent_type;
  const name = agent?.name ?? (typeof said === "string" ? said : "subagent");
  const asked = agent?.taskInput ?? (typeof call.args.description === "string" ? call.args.description : "");
  const line = call.state === "done" || call.state === "failed" ? firstLine(call.output) || asked : asked;
  return (
    <button type="button" className={css.card} aria-pressed={opened} onClick={() => onOpen(call.id)}>
      <span className={css.cardHead}>
        <StateGlyph state={call.state} />
        <span className={css.name}>{name}</span>
        <span className="visually-hidden">{STATE_WORDS[call.state]}</span>
      </span>
      <span className={css.cardLine}>{line}</span>
    </button>
  );
}

function firstLine(output: unknown): string {
  const text = Array.isArray(output) ? readText({ content: output }) : resultText(output);
  return text.split("\n").find((line) => line.trim() !== "") ?? "";
}
