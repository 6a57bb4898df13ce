/** One subagent at work, beside the conversation. Its stream is open only while this is. */
import { useMessages, useToolCalls } from "@langchain/react";
import { X } from "lucide-react";
import { useEffect, useMemo, useRef } from "react";
import type { RawMessage } from "../../api/types.ts";
import { IconButton } from "../../ui/Button.tsx";
import { type Connected, collectLiveCalls } from "../session/stream.ts";
import { MessageText } from "./MessageText.tsx";
import { useFollow } from "./follow.ts";
import { resultText, readText } from "./messages.ts";
import css from "./Panel.module.css";
import type { Subagent } from "./Subagents.tsx";
import { ToolLine, Tools } from "./Tools.tsx";
import { type ToolCall, useTurns } from "./turns.ts";

const WORDS = { running: "running", complete: "done", error: "failed" };

export function Panel({
  stream,
  call,
  agent,
  onClose,
}: {
  stream: Connected | undefined;
  call: ToolCall;
  agent: Subagent | undefined;
  onClose: () => void;
}) {
  const close = useRef<HTMLButtonElement>(null);
  useEffect(() => close.current?.focus(), [call.id]);
  const said = call.args.subagent_type;
  const name = agent?.name ?? (typeof said === "string" ? said : "Subagent");
  const asked = agent?.taskInput ?? (typeof call.args.description === "string" ? call.args.description : "");
  return (
    <aside
      className={css.panel}
      aria-label={`Subagent ${name}`}
      onKeyDown={(event) => {
        if (event.key === "Escape") onClose();
      }}
    >
      <header className={css.head}>
        <div>
          <h2>{name}</h2>
          {agent && <p>{WORDS[agent.status]}</p>}
        </div>
        <IconButton ref={close} label="Close" onClick={onClose}>
          <X size={16} aria-hidden />
        </IconButton>
      </header>
      {agent && stream ? (
        <Work key={agent.id} stream={stream} call={call} agent={agent} asked={asked} />
      ) : (
        <div className={css.body}>
          <p className={css.task}>{asked}</p>
          <MessageText text={outputText(call.output)} reasoning="" growing={false} />
        </div>
      )}
    </aside>
  );
}

function Work({ stream, call, agent, asked }: { stream: Connected; call: ToolCall; agent: Subagent; asked: string }) {
  const follow = useFollow();
  const messages = useMessages(stream, agent) as unknown as RawMessage[];
  const calls = useToolCalls(stream, agent);
  const live = useMemo(() => collectLiveCalls(calls), [calls]);
  const running = agent.status === "running";
  const turns = useTurns(messages, live, running);
  const parts = turns.flatMap((turn) => turn.parts);
  return (
    // A box that scrolls must be reachable by keyboard.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div className={css.body} ref={follow.scroller} tabIndex={0} role="region" aria-label="Steps">
      <div ref={follow.content} className={css.parts}>
        <p className={css.task}>{asked}</p>
        {parts.map((part, i) => (
          <div key={`${part.kind}-${part.id}`}>
            {part.kind === "text" && (
              <MessageText text={part.text} reasoning={part.reasoning} growing={running && i === parts.length - 1} />
            )}
            {part.kind === "tools" && <Tools id={part.id} calls={part.calls} />}
            {part.kind === "failed" && <ToolLine call={part.call} />}
            {part.kind === "subagents" && <Tools id={part.id} calls={part.calls} />}
          </div>
        ))}
        {parts.length === 0 && !running && <MessageText text={outputText(call.output)} reasoning="" growing={false} />}
        {agent.error && <p className={css.error}>{agent.error}</p>}
      </div>
    </div>
  );
}

function outputText(output: unknown): string {
  return Array.isArray(output) ? readText({ content: output }) : resultText(output);
}
