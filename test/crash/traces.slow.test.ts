/** Data that was answered with 202 exists once after a SIGKILL, with any request in progress at the kill. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { segment } from "../../src/traces/time.ts";
import { type KillableServer, startKillable } from "../support/server.ts";
import { seeded } from "../support/random.ts";
import { chooseAmount } from "../support/thorough.ts";

const ROUNDS = Math.min(5, chooseAmount("KILLS", 1, 50));
const BATCH = 20;

let server: KillableServer;
beforeAll(async () => {
  server = await startKillable();
});
afterAll(() => server.stop());

function run(n: number) {
  const start = (Date.UTC(2026, 10, 20) + n) * 1000;
  const id = `00000000-0000-4000-8000-${n.toString(16).padStart(12, "0")}`;
  const end_time = start / 1000 + 5;
  return {
    id,
    trace_id: id,
    dotted_order: segment(start, id),
    name: `run ${n}`,
    run_type: "chain",
    session_name: "crash",
    inputs: { n },
    end_time,
  };
}

interface Page {
  runs: { name: string }[];
  cursors: { next: string | null };
}

/** Sends one batch; true when it was answered with 202. */
async function sendBatch(first: number): Promise<boolean> {
  const post = Array.from({ length: BATCH }, (_, i) => run(first + i));
  try {
    const headers = { ...server.headers, "content-type": "application/json" };
    const response = await fetch(`${server.url}/runs/batch`, {
      method: "POST",
      headers,
      body: JSON.stringify({ post }),
    });
    return response.status === 202;
  } catch {
    return false;
  }
}

async function listStoredNames(): Promise<string[]> {
  const headers = { ...server.headers, "content-type": "application/json" };
  const sessions = await fetch(`${server.url}/sessions?name=crash`, { headers });
  const [project] = await sessions.json<{ id: string }[]>();
  const names: string[] = [];
  let cursor: string | null = null;
  do {
    const body: string = JSON.stringify({ session: [project?.id], select: ["name"], cursor });
    const response: Response = await fetch(`${server.url}/runs/query`, { method: "POST", headers, body });
    const page: Page = await response.json<Page>();
    names.push(...page.runs.map(({ name }) => name));
    cursor = page.cursors.next;
  } while (cursor);
  return names;
}

it(`nothing that was accepted is lost or doubled, over ${ROUNDS} kill(s)`, { timeout: 240_000 }, async () => {
  const random = seeded("trace kills");
  const accepted = new Set<number>();
  let next = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const stop = new AbortController();
    const sender = async () => {
      while (!stop.signal.aborted) {
        const first = next;
        next += BATCH;
        if (await sendBatch(first)) accepted.add(first);
      }
    };
    const senders = [sender(), sender(), sender()];
    await new Promise((resolve) => setTimeout(resolve, random.between(300, 1_500)));
    await server.kill();
    stop.abort();
    await Promise.all(senders);
    await server.restart();
  }
  expect(accepted.size).toBeGreaterThan(0);
  const names = await listStoredNames();
  expect(new Set(names).size).toBe(names.length);
  const stored = new Set(names);
  const missing = [...accepted].filter(
    (first) => !Array.from({ length: BATCH }, (_, i) => stored.has(`run ${first + i}`)).every(Boolean),
  );
  expect(missing).toEqual([]);
});
