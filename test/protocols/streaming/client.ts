/** Short calls of the streaming protocol for workerd tests. */
import type { Caller } from "../../support/caller.ts";
import { sseEvents } from "../../support/sse.ts";
import { checkAnswer, checkEvent } from "./protocol-schema.ts";

type Json = Record<string, unknown>;

export interface Event {
  type: "event";
  event_id: string;
  seq: number;
  method: string;
  params: { namespace: string[]; timestamp: number; node?: string; data: Json };
}

export interface Answer {
  type: "success" | "error";
  id: number | null;
  result: Json;
  meta: { thread_id: string; applied_through_seq: number };
  error: string;
  message: string;
}

export const ALL = ["values", "checkpoints", "updates", "messages", "tools", "lifecycle", "input", "tasks", "custom"];

let lastId = 0;

/** Sends a command and gives its answer, which is always a 200. */
export async function command(caller: Caller, threadId: string, method: string, params?: Json): Promise<Answer> {
  lastId += 1;
  const body = { id: lastId, method, params };
  const response = await caller.fetch(`/threads/${threadId}/commands`, { body });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  const answer = await response.json<Answer>();
  checkAnswer(answer);
  return answer;
}

export const isEnd = ({ method, params: { namespace, data } }: Event): boolean =>
  method === "lifecycle" &&
  namespace.length === 0 &&
  ["completed", "failed", "interrupted"].includes(String(data.event));

/** Reads a stream until `until` holds of an event, `times` times; then leaves, for the stream itself never ends. */
export async function read(
  caller: Caller,
  threadId: string,
  filter: Json = { channels: ALL },
  {
    until = isEnd,
    times = 1,
    headers = {},
  }: { until?: (event: Event) => boolean; times?: number; headers?: Record<string, string> } = {},
): Promise<Event[]> {
  const response = await caller.fetch(`/threads/${threadId}/stream/events`, { body: filter, headers });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  const got: Event[] = [];
  let left = times;
  for await (const { data } of sseEvents(response)) {
    checkEvent(data);
    got.push(data as Event);
    if (until(data as Event)) left -= 1;
    if (left === 0) break;
  }
  return got;
}

export const human = (content: string): Json => ({ messages: [{ type: "human", content, id: crypto.randomUUID() }] });

export const ofRoot = (events: Event[]): string[] =>
  events
    .filter(({ method, params }) => method === "lifecycle" && params.namespace.length === 0)
    .map(({ params }) => String(params.data.event));
