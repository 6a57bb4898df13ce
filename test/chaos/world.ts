/** One client of the fault tests, and what must hold when its work is done. */
import { expect, vi } from "vitest";
import { type Caller, newCaller } from "../support/caller.ts";
import type { Random } from "../support/random.ts";
import { get } from "../threads/client.ts";

export interface Client extends Caller {
  random: Random;
  /** Threads with recent work, the newest last. */
  threads: string[];
  /** Runs that must have one trace each when all is done. */
  traced: Set<string>;
  /** Runs whose end must reach the receiver. */
  hooked: Set<string>;
}

const MOST_THREADS = 50;

export async function newClient(next: () => number): Promise<Client> {
  const caller = await newCaller();
  const between = (low: number, high: number) => low + Math.floor(next() * (high - low));
  const random = { seed: 0, next, between };
  return { ...caller, random, threads: [], traced: new Set(), hooked: new Set() };
}

/** Notes a thread that has work, so that faults strike there. */
export function noteThread(client: Client, thread: string): void {
  client.threads.push(thread);
  if (client.threads.length > MOST_THREADS) client.threads.shift();
}

/** Runs whose webhook has arrived. */
const received = new Set<string>();

/** Takes the place of the internet: a receiver of webhooks that refuses or drops every third delivery. */
export function receiver(next: () => number): () => void {
  vi.stubGlobal("fetch", async (_: string, { body }: RequestInit) => {
    const luck = next();
    if (luck < 0.15) throw new TypeError("Network connection lost.");
    if (luck < 0.3) return new Response(null, { status: 503 });
    received.add((JSON.parse(body as string) as { run_id: string }).run_id);
    return new Response();
  });
  return () => vi.unstubAllGlobals();
}

interface Stats {
  run_count: number;
}

/** No thread is busy, every webhook has arrived, and every run has exactly one trace. */
export async function expectAtRest(client: Client): Promise<void> {
  const within = { timeout: 120_000, interval: 500 };
  const busy = async () => (await client.fetch("/threads/count", { body: { status: "busy" } })).json();
  await expect.poll(busy, within).toBe(0);
  await expect.poll(() => [...client.hooked].filter((run) => !received.has(run)), within).toEqual([]);
  if (client.traced.size === 0) return;
  const [project] = await get<{ id: string }[]>(client, "/api/v1/sessions?name=default");
  const roots = async () => {
    const body = { session: [project?.id], is_root: true };
    return (await (await client.fetch("/runs/stats", { body })).json<Stats>()).run_count;
  };
  await expect.poll(roots, within).toBe(client.traced.size);
}
