/** Short calls of the thread routes for workerd tests. */
import type { Caller } from "../support/caller.ts";

type Json = Record<string, unknown>;

export interface Frame {
  event: string;
  data: Json;
  id: string;
}

export function parseFrames(text: string): Frame[] {
  return text
    .split("\n\n")
    .filter((block) => block && !block.startsWith(":"))
    .map((block) => {
      const fields = Object.fromEntries(
        block.split("\n").map((line) => line.split(/: (.*)/s).slice(0, 2) as [string, string]),
      );
      return { event: fields.event ?? "", data: JSON.parse(fields.data ?? "null") as Json, id: fields.id ?? "" };
    });
}

export async function newThread(caller: Caller, body: Json = {}): Promise<string> {
  return (await (await caller.fetch("/threads", { body })).json<{ thread_id: string }>()).thread_id;
}

/** Streams a run to its end. */
export async function stream(caller: Caller, threadId: string, body: Json): Promise<Frame[]> {
  const response = await caller.fetch(`/threads/${threadId}/runs/stream`, { body });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  return parseFrames(await response.text());
}

export async function get<T = Json>(caller: Caller, path: string): Promise<T> {
  const response = await caller.fetch(path);
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  return response.json<T>();
}

export const say = (content: string): Json => ({ messages: [{ role: "user", content }] });
