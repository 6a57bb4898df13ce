/** Makes runs and tasks that are in progress when the server is killed, and records what their readers received. */
import { type Api, human } from "../../support/api.ts";
import { summarizeEvents } from "../log.ts";
import type { A2aTasks, CutRun, Threads } from "../manifest.ts";
import type { SseEvent } from "../../support/sse.ts";

/** The kinds of runs: graph, message, and the nodes that finish in a complete run, in order. */
const KINDS = [
  { graph: "agent", says: "count to 400", nodes: ["agent"] },
  { graph: "agent", says: "What is 17 * 24, and what is the time?", nodes: ["agent", "tools", "tools", "agent"] },
  {
    graph: "research",
    says: "Should we move the archive to the edge?",
    nodes: ["agent", "tools", "tools", "agent"],
  },
];

/** A run and its reader, which reads until the server stops. */
export class Reader {
  readonly thread = crypto.randomUUID();
  readonly events: SseEvent[] = [];
  run = "";
  ended = false;

  readonly #api: Api;
  readonly #kind: (typeof KINDS)[number];

  constructor(api: Api, kind: (typeof KINDS)[number]) {
    this.#api = api;
    this.#kind = kind;
  }

  /** Resolves when the run ends or the server stops. */
  async read(): Promise<void> {
    const body = {
      assistant_id: this.#kind.graph,
      if_not_exists: "create",
      input: human(this.#kind.says),
      stream_mode: ["messages-tuple", "updates", "tasks", "values"],
      stream_subgraphs: true,
      stream_resumable: true,
    };
    try {
      for await (const event of this.#api.events("POST", `/threads/${this.thread}/runs/stream`, body)) {
        this.events.push(event);
        if (event.event === "metadata") this.run = (event.data as { run_id: string }).run_id;
      }
      this.ended = true;
    } catch {
      // The server was killed.
    }
  }

  get cut(): CutRun {
    return { thread: this.thread, run: this.run, nodes: this.#kind.nodes, seen: summarizeEvents(this.events) };
  }

  /** The number of finished nodes that the reader has seen. */
  get finishedNodes(): number {
    return this.events.filter(({ event }) => event === "updates").length;
  }
}

export async function startReaders(api: Api): Promise<{ readers: Reader[]; reading: Promise<void>[] }> {
  const readers: Reader[] = [];
  const reading: Promise<void>[] = [];
  // Staggered starts, so that the kill interrupts each run at a different step.
  for (let n = 0; n < 9; n++) {
    const reader = new Reader(api, KINDS[n % KINDS.length]!);
    readers.push(reader);
    reading.push(reader.read());
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return { readers, reading };
}

/** A thread with one run in progress and two queued runs, and a thread whose run starts in 30 seconds. */
export async function makeQueued(api: Api): Promise<Threads["queued"]> {
  const start = async (thread: string, graph: string, says: string, more: object = {}) => {
    const body = { assistant_id: graph, if_not_exists: "create", input: human(says), ...more };
    return (await api.post<{ run_id: string }>(`/threads/${thread}/runs`, body)).run_id;
  };
  const behind = crypto.randomUUID();
  const runs = [
    await start(behind, "agent", "count to 300"),
    await start(behind, "echo", "second"),
    await start(behind, "agent", "third"),
  ];
  const later = crypto.randomUUID();
  return [
    { thread: behind, runs, messages: 6 },
    { thread: later, runs: [await start(later, "echo", "later", { after_seconds: 30 })], messages: 2 },
  ];
}

/** Calls an A2A agent with protocol version 1.0. */
export async function a2aCall<T>(api: Api, agent: string, method: string, params: object): Promise<T> {
  const body = { jsonrpc: "2.0", id: crypto.randomUUID(), method, params };
  const { result, error } = await api.post<{ result: T; error?: object }>(`/a2a/${agent}`, body);
  if (error) throw new Error(`${method}: ${JSON.stringify(error)}`);
  return result;
}

export const a2aMessage = (text: string, more: object = {}) => ({
  message: { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }], ...more },
});

interface Sent {
  task: { id: string; contextId: string; status: { state: string } };
}

/** An address without a listener. Messages to it stay in the outbox. */
export const NOWHERE = "http://127.0.0.1:9";

/** A completed run whose webhook is not delivered. */
export async function makeWebhook(api: Api): Promise<Threads["webhook"]> {
  const thread = crypto.randomUUID();
  const body = { assistant_id: "echo", if_not_exists: "create", input: human("told"), webhook: `${NOWHERE}/webhook` };
  const { run_id: run } = await api.post<{ run_id: string }>(`/threads/${thread}/runs`, body);
  await api.get(`/threads/${thread}/runs/${run}/join`);
  return { thread, run };
}

/** A stateless run in progress. */
export async function startStateless(api: Api): Promise<string> {
  const body = { assistant_id: "agent", input: human("count to 200") };
  return (await api.post<{ run_id: string }>("/runs", body)).run_id;
}

/** A task that waits for input, with a push notification that is not delivered. */
export async function makeA2aWaiting(api: Api): Promise<A2aTasks["waiting"]> {
  const { task } = await a2aCall<Sent>(api, "approval", "SendMessage", {
    ...a2aMessage("Send an email to ada@example.com saying hello"),
    configuration: { taskPushNotificationConfig: { url: `${NOWHERE}/task`, token: "of the fixture" } },
  });
  if (task.status.state !== "TASK_STATE_INPUT_REQUIRED")
    throw new Error(`The task does not wait: ${task.status.state}`);
  return { task: task.id, context: task.contextId };
}

/** A task in progress. */
export async function startA2aTask(api: Api): Promise<A2aTasks["cut"]> {
  const params = { ...a2aMessage("count to 350"), configuration: { returnImmediately: true } };
  const { task } = await a2aCall<Sent>(api, "agent", "SendMessage", params);
  return { task: task.id, ends_with: "350" };
}
