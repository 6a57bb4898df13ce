/** One client of the fault tests, and what must hold when its work is done. */
import { expect, vi } from "vitest";
import { findOutage } from "../../src/lib/retry.ts";
import { pause } from "../support/aborts.ts";
import { type Caller, newCaller } from "../support/caller.ts";
import { injected } from "../support/failing-storage.ts";
import { type Random, createRandom } from "../support/random.ts";
import { putRule, uses } from "../limits/flow/put-rule.ts";
import { get } from "../threads/client.ts";

export interface Client extends Caller {
  random: Random;
  /** Threads with recent work, the newest last. */
  threads: string[];
  /** Runs that must have one trace each when all is done. */
  traced: Set<string>;
  /** Runs and tasks whose end must reach the receiver. */
  hooked: Set<string>;
}

const MOST_THREADS = 50;

/** `limited`: flow control holds for the runs of the client. */
export async function newClient(next: () => number, limited: boolean): Promise<Client> {
  const caller = await newCaller();
  if (limited) await putRule(caller, "all", { concurrency: 2 });
  return {
    ...caller,
    fetch: fetchPatiently(caller),
    random: createRandom(next),
    threads: [],
    traced: new Set(),
    hooked: new Set(),
  };
}

/** The platform failed, or storage has failed since `before` failures. */
export function isOutage(error: unknown, before: number): boolean {
  return injected.count > before || findOutage(error) !== undefined || /Problem:503|abort/.test(String(error));
}

/**
 * Sends a request again that failed because storage did, as the SDKs do: a POST under the same Idempotency-Key. A 5xx
 * without such a cause is returned. 409 with `Retry-After` says that the first request is still being answered.
 */
function fetchPatiently(caller: Caller): Caller["fetch"] {
  return async (path, options = {}) => {
    const isPost = options.body !== undefined && (options.method ?? "POST") === "POST";
    const headers = { ...(isPost && { "idempotency-key": crypto.randomUUID() }), ...options.headers };
    const before = injected.count;
    for (;;) {
      const response = await caller.fetch(path, { ...options, headers });
      const isHeld = response.status === 409 && response.headers.has("retry-after");
      if (injected.count === before || !(isHeld || response.status >= 500)) return response;
      await response.body?.cancel();
      await pause(200);
    }
  };
}

/** Notes a thread that has work, so that faults strike there. */
export function noteThread(client: Client, thread: string): void {
  client.threads.push(thread);
  if (client.threads.length > MOST_THREADS) client.threads.shift();
}

/** Runs and tasks whose end has arrived. */
const received = new Set<string>();

interface Hook {
  /** Of a webhook. */
  run_id?: string;
  /** Of a push notification. */
  task?: { id: string; status: { state: string } };
}

/** The fourth attempt follows 30 s after the third, the fifth two minutes after the fourth. */
const MOST_FAILURES = 3;

/** Takes the place of the internet: a receiver that refuses or drops every third delivery, and none more than three times. */
export function receiver(next: () => number): () => void {
  const failures = new Map<string, number>();
  vi.stubGlobal("fetch", async (_: string, { body }: RequestInit) => {
    const { run_id, task } = JSON.parse(body as string) as Hook;
    const delivery = run_id ?? `${task?.id} ${task?.status.state}`;
    const failed = failures.get(delivery) ?? 0;
    const luck = next();
    if (luck < 0.3 && failed < MOST_FAILURES) {
      failures.set(delivery, failed + 1);
      if (luck < 0.15) throw new TypeError("Network connection lost.");
      return new Response(null, { status: 503 });
    }
    if (run_id !== undefined) received.add(run_id);
    if (task?.status.state === "TASK_STATE_COMPLETED") received.add(task.id);
    return new Response();
  });
  return () => vi.unstubAllGlobals();
}

interface Stats {
  run_count: number;
}

/** No thread is busy, no slot of flow control is held, every webhook has arrived, and every run has exactly one trace. */
export async function expectAtRest(client: Client): Promise<void> {
  const within = { timeout: 240_000, interval: 500 };
  const countBusy = async () => (await client.fetch("/threads/count", { body: { status: "busy" } })).json();
  await expect.poll(countBusy, within).toBe(0);
  await expect.poll(() => [...client.hooked].filter((run) => !received.has(run)), within).toEqual([]);
  const slots = async () => (await uses(client)).reduce((sum, { held, waiting }) => sum + held + waiting, 0);
  await expect.poll(slots, within).toBe(0);
  if (client.traced.size === 0) return;
  const [project] = await get<{ id: string }[]>(client, "/api/v1/sessions?name=default");
  const body = { session: [project?.id], is_root: true, start_time: "2026-01-01T00:00:00Z" };
  const listMissing = async () => {
    const roots = new Set<string>();
    let cursor: string | undefined;
    do {
      const answer = await client.fetch("/runs/query", { body: { ...body, limit: 100, select: ["id"], cursor } });
      const { runs, cursors } = await answer.json<{ runs: { id: string }[]; cursors: { next?: string } }>();
      for (const { id } of runs) roots.add(id);
      cursor = cursors.next ?? undefined;
    } while (cursor);
    return [...client.traced].filter((run) => !roots.has(run));
  };
  await expect.poll(listMissing, within).toEqual([]);
  const { run_count } = await (await client.fetch("/runs/stats", { body })).json<Stats>();
  expect(run_count).toBe(client.traced.size);
}
