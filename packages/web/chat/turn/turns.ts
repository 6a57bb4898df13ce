/** A conversation as turns: a question, and all messages until the next question. */
import { readRole } from "../../../../src/agents/prompts/role.ts";
import type { RawMessage } from "../../api/types.ts";
import { type Media, listMedia } from "./media.ts";
import { readReasoning, readText } from "./messages.ts";
import type { Decided } from "./past.ts";
import { useMemo, useRef } from "react";

export type CallState = "running" | "done" | "failed" | "waiting";

export interface ToolCall {
  id: string;
  name: string;
  args: Record<string, unknown>;
  state: CallState;
  /** As the tool returned it; undefined while there is none. */
  output?: unknown;
}

export type Part =
  | { kind: "text"; id: string; text: string; reasoning: string; media: Media[]; stopped: boolean }
  | { kind: "tools"; id: string; calls: ToolCall[] }
  | { kind: "failed"; id: string; call: ToolCall }
  | { kind: "subagents"; id: string; calls: ToolCall[]; from: string; to: string | undefined }
  | { kind: "decided"; id: string; decided: Decided };

export interface Turn {
  /** The id of the message that opens it. */
  id: string;
  /** Undefined when the agent sent the first message. */
  asked?: { id: string; text: string; media: Media[] };
  parts: Part[];
  /** Ids of every message of the turn, in order. */
  messageIds: string[];
  /** Tokens of its model calls, as far as their messages have them. */
  tokens: number;
  models: string[];
}

/** The data of the stream about a call, in addition to its message. */
export interface LiveCall {
  status: "running" | "finished" | "error";
  output: unknown;
  error?: string | undefined;
}

/**
 * Splits messages into turns. Results are folded into their calls; calls in a row, also of several messages, are one
 * part; a failed call stands alone; a `task` call is a subagent. A person's decision follows the message with its
 * interrupt.
 */
export function buildTurns(
  messages: RawMessage[],
  live: ReadonlyMap<string, LiveCall>,
  running: boolean,
  decided: readonly Decided[] = [],
): Turn[] {
  const results = new Map<string, RawMessage>();
  for (const message of messages)
    if (readRole(message.type) === "tool" && message.tool_call_id) results.set(message.tool_call_id, message);

  const last = messages.findLastIndex(({ type }) => readRole(type) === "human");
  const turns: Turn[] = [];
  for (const [i, message] of messages.entries()) {
    const id = message.id ?? `at-${i}`;
    const role = readRole(message.type);
    if (role === "human") {
      turns.push({
        id,
        asked: { id, text: readText(message), media: listMedia(message.content) },
        parts: [],
        messageIds: [id],
        tokens: 0,
        models: [],
      });
      continue;
    }
    if (turns.length === 0) turns.push({ id, parts: [], messageIds: [], tokens: 0, models: [] });
    const turn = turns[turns.length - 1]!;
    turn.messageIds.push(id);
    if (role === "ai") {
      addAnswer(turn.parts, message, id, results, running && i > last ? live : undefined);
      addUsage(turn, message);
    }
    for (const one of decided) if (one.after === id) turn.parts.push({ kind: "decided", id: one.id, decided: one });
  }
  return turns;
}

/** Providers name the model in one of these members. */
const MODEL = ["model_name", "model"];

function addUsage(turn: Turn, { usage_metadata: usage, response_metadata: response = {} }: RawMessage): void {
  turn.tokens += usage?.total_tokens ?? 0;
  const model = MODEL.map((name) => response[name]).find((value) => typeof value === "string" && value !== "");
  if (typeof model === "string" && !turn.models.includes(model)) turn.models.push(model);
}

function addAnswer(
  parts: Part[],
  message: RawMessage,
  id: string,
  results: ReadonlyMap<string, RawMessage>,
  live: ReadonlyMap<string, LiveCall> | undefined,
): void {
  const text = readText(message);
  const reasoning = readReasoning(message);
  const media = listMedia(message.content);
  if (text.trim() !== "" || reasoning !== "" || media.length > 0)
    parts.push({ kind: "text", id, text, reasoning, media, stopped: message.stopped === true });
  for (const [i, raw] of (message.tool_calls ?? []).entries()) {
    const callId = raw.id ?? `${id}-${i}`;
    const call: ToolCall = { id: callId, name: raw.name, args: raw.args, ...outcome(callId, results, live) };
    const kind = raw.name === "task" ? "subagents" : call.state === "failed" ? "failed" : "tools";
    const last = parts.at(-1);
    if (kind === "failed") parts.push({ kind, id: callId, call });
    else if (last?.kind === "tools" && kind === "tools") last.calls.push(call);
    else if (kind === "tools") parts.push({ kind, id: callId, calls: [call] });
    else {
      // From the message that calls them to their last result: the checkpoints of these two have the time.
      const to = results.get(callId)?.id;
      if (last?.kind === "subagents") parts.splice(-1, 1, { ...last, to, calls: [...last.calls, call] });
      else parts.push({ kind, id: callId, calls: [call], from: id, to });
    }
  }
}

/** `live`: of the run in progress. A run on another branch may have made the same call. */
function outcome(
  callId: string,
  results: ReadonlyMap<string, RawMessage>,
  live: ReadonlyMap<string, LiveCall> | undefined,
): Pick<ToolCall, "state" | "output"> {
  const result = results.get(callId);
  if (result) return { state: result.status === "error" ? "failed" : "done", output: result.content };
  const seen = live?.get(callId);
  if (seen?.status === "error") return { state: "failed", output: seen.error };
  if (seen?.status === "finished") return { state: "done", output: seen.output };
  return { state: live ? "running" : "waiting" };
}

const TELLING = ["path", "file_path", "query", "url", "description", "command", "question"];

/** The argument that says most about a call, on one line. */
export function tellingArgument(args: Record<string, unknown>): string {
  const name = TELLING.find((key) => typeof args[key] === "string");
  const value = name === undefined ? Object.values(args).find((arg) => typeof arg === "string") : args[name];
  return typeof value === "string" ? (value.split("\n")[0] ?? "") : "";
}

interface Kept {
  sources: unknown[];
  turn: Turn;
}

const NONE: Decided[] = [];

/** Turns of a growing conversation: a turn that did not change keeps its identity, and is not drawn again. */
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
