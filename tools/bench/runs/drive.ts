/** Sends runs to a server, a fixed number at a time, and takes their times and the processor time of both sides. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "@langchain/langgraph-sdk";
import { cpuByRole, type Role, ROLES } from "../servers/processes.ts";
import type { Server } from "../servers/server.ts";

/** The stream of a run. `events` is how many a finished one has, so that two servers are known to do the same. */
export const WORK = {
  echo: { content: "hello", modes: ["values", "updates"], events: 4 },
  agent: { content: "hello there, how are you?", modes: ["values", "updates", "messages-tuple"], events: 82 },
} as const;
export type Graph = keyof typeof WORK;

/**
 * Milliseconds from the call that makes the thread: to the first event, the first token, the last event, and the end of the
 * stream. Without the mode `messages-tuple` there is no token: NaN.
 */
export interface Times {
  thread_id: string;
  first: number;
  token: number;
  last: number;
  close: number;
}

/** One run on a new thread, which is made inside the clock. */
export async function timeRun(client: Client, graph: Graph): Promise<Times> {
  const { content, modes, events } = WORK[graph];
  const start = performance.now();
  const { thread_id } = await client.threads.create();
  const times = { thread_id, first: 0, token: Number.NaN, last: 0, close: 0 };
  let seen = 0;
  const input = { messages: [{ role: "user", content }] };
  for await (const { event, data } of client.runs.stream(thread_id, graph, { input, streamMode: [...modes] })) {
    if (event === "error") throw new Error(`The run failed: ${JSON.stringify(data)}`);
    times.last = performance.now() - start;
    times.first ||= times.last;
    if (Number.isNaN(times.token) && event.startsWith("messages")) times.token = times.last;
    seen += 1;
  }
  times.close = performance.now() - start;
  if (seen !== events) throw new Error(`A run of ${graph} had ${seen} events, not ${events}.`);
  return times;
}

export interface Load {
  graph: Graph;
  runs: number;
  /** Runs under way at the same time. */
  atOnce: number;
}

export interface Driven {
  perSecond: number;
  times: Times[];
  /** Processor milliseconds a run; NaN for a server whose process is not known. */
  cpu: Record<Role | "client", number>;
}

/** After the last stream's end a server still stores traces and index rows: work of the runs too. Milliseconds. */
const REST = 700;

export async function drive({ client, pid, persistTo }: Server, { graph, runs, atOnce }: Load): Promise<Driven> {
  const readCpu = () => (pid === undefined ? undefined : cpuByRole(pid, persistTo));
  const before = readCpu();
  const client0 = process.cpuUsage();
  const start = performance.now();
  const times: Times[] = [];
  let left = runs;
  const worker = async () => {
    while (left > 0) {
      left -= 1;
      times.push(await timeRun(client, graph));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  const seconds = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage(client0);
  await sleep(REST);
  const after = readCpu();
  const computeSpent = (role: Role) => (((after?.[role] ?? Number.NaN) - (before?.[role] ?? 0)) * 1000) / runs;
  const cpu = { client: (user + system) / 1000 / runs, workerd: 0, proxy: 0, node: 0 };
  for (const role of ROLES) cpu[role] = computeSpent(role);
  return { perSecond: runs / seconds, times, cpu };
}
