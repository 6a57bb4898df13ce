/** A thread and a trace that are long enough to be slow in the page. */
import { expect } from "vitest";
import type { Access } from "./server.ts";

async function post<T>({ url, headers }: Access, path: string, body: unknown): Promise<T> {
  const init = { method: "POST", headers: { ...headers, "content-type": "application/json" } };
  const answer = await fetch(url + path, { ...init, body: JSON.stringify(body) });
  expect(answer.status).toBeLessThan(300);
  return answer.json<T>();
}

/** Runs a thread this often: "turn 0", "turn 1". Returns its id. */
export async function sendLongThread(server: Access, runs: number): Promise<string> {
  const { thread_id } = await post<{ thread_id: string }>(server, "/threads", { metadata: { title: "A long thread" } });
  for (let i = 0; i < runs; i += 1) {
    const input = { messages: [{ role: "user", content: `turn ${i}` }] };
    await post(server, `/threads/${thread_id}/runs/wait`, { assistant_id: "echo", input });
  }
  return thread_id;
}

/** Sends a root, "step 0", and the runs below it. Returns the id of the trace. */
export async function sendLongTrace(server: Access, runs: number): Promise<string> {
  const root = crypto.randomUUID();
  const began = Date.now() - 60_000;
  const spans = Array.from({ length: runs }, (_, n) => ({
    id: n === 0 ? root : crypto.randomUUID(),
    trace_id: root,
    ...(n > 0 && { parent_run_id: root }),
    name: `step ${n}`,
    run_type: "chain",
    session_name: "long trace",
    start_time: new Date(began + n).toISOString(),
    end_time: new Date(began + n + 5).toISOString(),
    inputs: { n },
  }));
  for (let first = 0; first < runs; first += 500)
    await post(server, "/runs/batch", { post: spans.slice(first, first + 500), patch: [] });
  return root;
}
