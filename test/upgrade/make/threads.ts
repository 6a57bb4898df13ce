/** Makes idle threads: long, large, copied, failed, changed by a client, with a TTL, and interrupted. */
import { type Api, human, waitUntil } from "../../support/api.ts";
import { digest, foldEvents, protocolLog } from "../log.ts";
import type { Threads } from "../manifest.ts";
import { listRuns, snapshot, type ThreadSnapshot } from "../snapshot.ts";

const HUNDRED_YEARS = 52_560_000;

/** Sends one message and waits for the run's end. */
export async function turn(api: Api, thread: string, graph: string, says: string, more: object = {}): Promise<void> {
  const stream_mode = ["values", "updates", "messages-tuple"];
  const body = { assistant_id: graph, if_not_exists: "create", input: human(says), stream_mode, ...more };
  await api.post(`/threads/${thread}/runs/wait`, body);
}

/** Runs turns with short answers, which keep the fixture small. Every hundredth is long enough for the log to be compacted. */
async function turns(api: Api, thread: string, from: number, to: number): Promise<void> {
  for (let n = from; n <= to; n++) await turn(api, thread, "agent", `count to ${n % 100 === 0 ? 40 : 1 + (n % 5)}`);
}

export interface Long {
  thread: string;
  middle: Threads["middle"];
}

/** Makes a thread with 200 turns of streamed tokens. `finishLong` waits until its log is compacted. */
export async function startLong(api: Api): Promise<Long> {
  const thread = crypto.randomUUID();
  await turns(api, thread, 1, 100);
  const state = await api.get<{ values: object; checkpoint: { checkpoint_id: string } }>(`/threads/${thread}/state`);
  await turns(api, thread, 101, 200);
  const middle = { thread, checkpoint: state.checkpoint.checkpoint_id, values: digest(state.values) };
  return { thread, middle };
}

/** Waits until the server has compacted the log, then adds ten turns, which are not compacted. */
export async function finishLong(api: Api, { thread }: Long): Promise<void> {
  const newest = (await listRuns(api, thread))[0]?.run_id ?? "";
  const before = await protocolLog(api, thread, newest);
  await waitUntil("the long thread is compacted", 900, async () => {
    const { length } = await protocolLog(api, thread, newest);
    if (length < before.length) return length;
    await new Promise((resolve) => setTimeout(resolve, 5_000));
  });
  const after = await protocolLog(api, thread, newest);
  if (foldEvents(after).texts !== foldEvents(before).texts)
    throw new Error("Compaction changed the texts of the thread.");
  await turns(api, thread, 201, 210);
}

/** A thread with two turns and a state of 1.5 MB, with characters of two and three bytes. */
async function makeLarge(api: Api): Promise<string> {
  const thread = crypto.randomUUID();
  await turn(api, thread, "echo", "The gauge shows 3 m. ".repeat(18_000) + "Ufer überströmt, 水位上昇。".repeat(9_000));
  await turn(api, thread, "echo", "And a short one.");
  return thread;
}

/** A thread with tool calls and subgraphs, whose metadata and state a client has changed. */
async function makeChanged(api: Api): Promise<string> {
  const thread = crypto.randomUUID();
  await turn(api, thread, "agent", "What is 17 * 24, and what is the time?", { stream_subgraphs: true });
  await turn(api, thread, "research", "Should we move the archive to the edge?", { stream_subgraphs: true });
  await api.call("PATCH", `/threads/${thread}`, { metadata: { owner: "upgrade", tags: ["a", "b"] } });
  const values = { messages: [{ role: "user", content: "written by hand" }] };
  await api.post(`/threads/${thread}/state`, { values, as_node: "__start__" });
  return thread;
}

/** A thread with a cancelled, a rolled-back and a failed run. */
async function makeFailed(api: Api): Promise<string> {
  const thread = crypto.randomUUID();
  await turn(api, thread, "echo", "first");
  const slow = { assistant_id: "echo", input: human("never"), after_seconds: 3_600 };
  for (const action of ["interrupt", "rollback"]) {
    const { run_id } = await api.post<{ run_id: string }>(`/threads/${thread}/runs`, slow);
    await api.post(`/threads/${thread}/runs/${run_id}/cancel?wait=1&action=${action}`, undefined);
  }
  await turn(api, thread, "agent", "What is 17 * 24?", { config: { recursion_limit: 1 } });
  return thread;
}

const MAIL = "Send an email to ada@example.com saying hello";

/** A thread that waits for approval of a mail. */
async function makeWaiting(api: Api, by: "run" | "command"): Promise<Threads["waiting"][number]> {
  const thread = crypto.randomUUID();
  await turn(api, thread, "approval", MAIL);
  const { interrupts } = await api.get<{ interrupts: Record<string, { id: string }[]> }>(`/threads/${thread}`);
  const interrupt = Object.values(interrupts).flat()[0]?.id;
  if (interrupt === undefined) throw new Error("The thread does not wait.");
  return { by, thread, interrupt };
}

export type AtRest = Pick<Threads, "middle" | "waiting" | "lasting" | "kept" | "rest">;

/** Makes all other idle threads. `long` is the long thread. */
export async function makeAtRest(api: Api, long: Long): Promise<AtRest> {
  const fresh = crypto.randomUUID();
  await turns(api, fresh, 1, 60);
  const changed = await makeChanged(api);
  const copy = await api.post<{ thread_id: string }>(`/threads/${changed}/copy`, undefined);
  const copied = copy.thread_id;
  await turn(api, copied, "agent", "after the copy");
  const waiting = [await makeWaiting(api, "run"), await makeWaiting(api, "command")];
  const threads: Record<string, string> = {
    long: long.thread,
    "not compacted": fresh,
    large: await makeLarge(api),
    changed,
    copied,
    "only copied": (await api.post<{ thread_id: string }>(`/threads/${changed}/copy`, undefined)).thread_id,
    failed: await makeFailed(api),
  };
  const ttl = { strategy: "delete", ttl: HUNDRED_YEARS };
  const { thread_id: lasting } = await api.post<{ thread_id: string }>("/threads", { ttl });
  await turn(api, lasting, "echo", "for a hundred years");
  const { ttl: shown } = await api.get<{ ttl: { expires_at: string } }>(`/threads/${lasting}?include=ttl`);
  const rest: ThreadSnapshot[] = [];
  for (const [what, thread] of Object.entries(threads)) rest.push(await snapshot(api, what, thread));
  return {
    middle: long.middle,
    waiting,
    lasting: { thread: lasting, expires_at: shown.expires_at },
    kept: await makeKept(api),
    rest,
  };
}

/** The thread of a stateless run with `on_completion: keep`. */
async function makeKept(api: Api): Promise<string> {
  const body = { assistant_id: "echo", input: human("alone"), on_completion: "keep", metadata: { alone: true } };
  await api.post("/runs/wait", body);
  const found = await api.post<{ thread_id: string }[]>("/threads/search", { metadata: { alone: true } });
  if (found[0] === undefined) throw new Error("The stateless run kept no thread.");
  return found[0].thread_id;
}
