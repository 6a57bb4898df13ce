/** What the views of the page show in the bench: a long thread among others, a long trace, and many traces. */
import { multiply } from "../../../test/support/server.ts";
import { chooseAmount } from "../least.ts";
import type { Weir } from "../servers/server.ts";
import { batch, BOUNDARY } from "../traces/batch.ts";

const OTHER_THREADS = chooseAmount(49, 1);

async function post<T>(server: Weir, path: string, body: unknown): Promise<T> {
  const headers = { ...server.headers, "content-type": "application/json" };
  const response = await fetch(server.url + path, { method: "POST", headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

/** A thread of this many runs, and others, so that the list beside the chat is full. Returns its id. */
export async function longThread(server: Weir, runs: number): Promise<string> {
  for (let i = 0; i < OTHER_THREADS; i += 1) await post(server, "/threads", { metadata: { title: `Thread ${i}` } });
  const { thread_id } = await post<{ thread_id: string }>(server, "/threads", { metadata: { title: "A long thread" } });
  for (let turn = 0; turn < runs; turn += 1) {
    const input = { messages: [{ role: "user", content: `turn ${turn}` }] };
    await post(server, `/threads/${thread_id}/runs/wait`, { assistant_id: "echo", input });
  }
  return thread_id;
}

/** A root with calls below it, in a project of its own. */
export async function longTrace(server: Weir, runs: number): Promise<{ id: string; project: string }> {
  const began = Date.now() - 60_000;
  const root = crypto.randomUUID();
  const toDottedOrder = (time: number, id: string) =>
    `${new Date(time).toISOString().replaceAll(/[-:.]/g, "").slice(0, 18)}000Z${id}`;
  const run = (n: number) => {
    const id = n === 0 ? root : crypto.randomUUID();
    const own = toDottedOrder(began + n, id);
    return {
      id,
      trace_id: root,
      ...(n > 0 && { parent_run_id: root }),
      dotted_order: n === 0 ? own : `${toDottedOrder(began, root)}.${own}`,
      name: n === 0 ? "long trace" : `step ${n}`,
      run_type: n === 0 ? "chain" : "tool",
      session_name: "long trace",
      start_time: new Date(began + n).toISOString(),
      end_time: new Date(began + n + 5).toISOString(),
      inputs: { n },
    };
  };
  for (let first = 0; first < runs; first += 500) {
    const sent = Array.from({ length: Math.min(500, runs - first) }, (_, i) => run(first + i));
    await post(server, "/runs/batch", { post: sent, patch: [] });
  }
  return { id: root, project: await findProject(server, "long trace") };
}

/** This many runs of one day in a project. */
export async function manyTraces(server: Weir, runs: number): Promise<void> {
  const day = new Date().setUTCHours(0, 0, 0, 0);
  for (let first = 0; first < Math.min(runs, 5_000); first += 100) {
    const headers = {
      ...server.headers,
      "content-encoding": "gzip",
      "content-type": `multipart/form-data; boundary=${BOUNDARY}`,
    };
    const sent = await fetch(`${server.url}/runs/multipart`, {
      method: "POST",
      body: batch("many", first, [day]).body,
      headers,
    });
    if (!sent.ok) throw new Error(`${sent.status} ${await sent.text()}`);
  }
  await multiply(server, await findProject(server, "many"), day, { rows: runs });
}

async function findProject(server: Weir, name: string): Promise<string> {
  const found = await fetch(`${server.url}/sessions?name=${encodeURIComponent(name)}`, { headers: server.headers });
  const [project] = await found.json<{ id: string }[]>();
  if (!project) throw new Error(`No project is called ${name}.`);
  return project.id;
}
