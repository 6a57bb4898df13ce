/** Calls of the playground, for tests in workerd. */
import { expect, vi } from "vitest";
import { type Caller } from "./caller.ts";
import { ask } from "./examples.ts";
import { type SseEvent, sseEvents } from "./sse.ts";
import { stubFetch } from "./stub-fetch.ts";
import { POLL_MS } from "./thorough.ts";

export const BASE = "https://models.example.com/v1";
export const OPENAI = { provider: "openai", model: "gpt-4o-mini", base_url: BASE, api_key: "sk-of-the-caller" };
export const OFFLINE = { provider: "offline" };
export const HELLO = [{ role: "human", content: "count to 3" }];

export const post = (caller: Caller, body: object) => caller.fetch("/api/v1/playground/stream", { body });

async function events(response: Response): Promise<SseEvent[]> {
  expect(response.status).toBe(200);
  const all: SseEvent[] = [];
  for await (const event of sseEvents(response)) all.push(event);
  return all;
}

export const play = async (caller: Caller, body: object) => events(await post(caller, body));
export const findData = (all: SseEvent[], name: string) =>
  all.find(({ event }) => event === name)?.data as Record<string, unknown> | undefined;
export const joinContent = (all: SseEvent[]) =>
  all.flatMap(({ event, data }) => (event === "delta" ? [(data as { content?: string }).content ?? ""] : [])).join("");

interface Traced {
  id: string;
  status: string;
  error: string | null;
  run_type: string;
  inputs: unknown;
  outputs: Record<string, unknown> | null;
  extra: { metadata: Record<string, unknown>; invocation_params: Record<string, unknown> };
  total_tokens: number;
  total_cost: string | null;
}

export async function listTraced(caller: Caller): Promise<Traced[]> {
  const projects = await ask<{ id: string }[]>(caller, "/api/v1/sessions?name=playground");
  if (projects.length === 0) return [];
  const session = projects.map(({ id }) => id);
  const { runs } = await ask<{ runs: Traced[] }>(caller, "/api/v1/runs/query", { body: { session } });
  return runs;
}

export const waitForTrace = (caller: Caller) =>
  vi.waitFor(async () => {
    const [run] = await listTraced(caller);
    if (!run) throw new Error("not traced");
    return run;
  }, POLL_MS);

export const chunk = (delta: object, more: object = {}) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null, ...more }] })}\n\n`;
export const USAGE = `data: ${JSON.stringify({
  choices: [],
  usage: {
    prompt_tokens: 1_000_000,
    completion_tokens: 2,
    total_tokens: 1_000_002,
    prompt_tokens_details: { cached_tokens: 0 },
  },
})}\n\n`;
export const DONE = "data: [DONE]\n\n";
export const stream = (...parts: string[]) =>
  new Response(parts.join(""), { headers: { "content-type": "text/event-stream" } });

/** Stands in for the provider. */
export function provider(answer: () => Response | Promise<Response>) {
  const sent: { url: string; headers: Headers; body: Record<string, unknown>; signal: AbortSignal }[] = [];
  stubFetch(async (url, init) => {
    sent.push({
      url,
      signal: init.signal as AbortSignal,
      headers: new Headers(init.headers),
      body: JSON.parse(init.body as string) as Record<string, unknown>,
    });
    return answer();
  });
  return sent;
}
