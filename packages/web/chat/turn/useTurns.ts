/** Turns of a growing conversation: a turn that did not change keeps its identity, and is not drawn again. */
import { useMemo, useRef } from "react";
import type { RawMessage } from "../../api/types.ts";
import type { Decided } from "./past.ts";
import { type LiveCall, type Turn, buildTurns } from "./turns.ts";

interface Kept {
  sources: unknown[];
  turn: Turn;
}

const NONE: Decided[] = [];

export function useTurns(
  messages: RawMessage[],
  live: ReadonlyMap<string, LiveCall>,
  running: boolean,
  decided = NONE,
): Turn[] {
  const kept = useRef(new Map<string, Kept>());
  return useMemo(() => {
    const byId = new Map(messages.map((message, i) => [message.id ?? `at-${i}`, message]));
    const turns = buildTurns(messages, live, running, decided);
    const next = new Map<string, Kept>();
    const shared = turns.map((turn, i) => {
      const members = turn.messageIds.map((id) => byId.get(id));
      const calls = members.flatMap((message) => (message?.tool_calls ?? []).map((call) => call.id ?? ""));
      const sources: unknown[] = [
        ...members,
        ...calls.map((id) => live.get(id)?.status),
        running && i === turns.length - 1,
      ];
      sources.push(...turn.parts.map((part) => (part.kind === "decided" ? part.id : "")).filter(Boolean));
      const before = kept.current.get(turn.id);
      const same = before?.sources.length === sources.length && before.sources.every((one, at) => one === sources[at]);
      const keep = same ? before : { sources, turn };
      next.set(turn.id, keep);
      return keep.turn;
    });
    kept.current = next;
    return shared;
  }, [messages, live, running, decided]);
}
