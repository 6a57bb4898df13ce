/** A graph whose runs work until the test lets them end, and that counts how many do at once, by the name in their input. */
import "../../../src/runtime/install.ts";
import { END, type LangGraphRunnableConfig, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { z } from "zod";
import { graphs } from "../../../src/deployment.ts";
import type { Caller } from "../../support/caller.ts";
import { uses } from "./put-rule.ts";

const State = new StateSchema({ name: z.string().default(""), ms: z.number().default(0) });

/** Runs that work now, by name; the most there were; and when runs began, in order. */
export const working = new Map<string, number>();
export const most = new Map<string, number>();
export const began: { name: string; at: number }[] = [];
const held = new Set<string>();

const waitMs = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function work({ name, ms }: { name: string; ms: number }, { signal }: LangGraphRunnableConfig) {
  const count = (working.get(name) ?? 0) + 1;
  working.set(name, count);
  most.set(name, Math.max(count, most.get(name) ?? 0));
  began.push({ name, at: performance.now() });
  try {
    while (held.has(name)) {
      signal?.throwIfAborted();
      await waitMs(Math.max(5, ms / 20));
    }
    await waitMs(ms);
  } finally {
    working.set(name, (working.get(name) ?? 1) - 1);
  }
  return {};
}

graphs.working = new StateGraph(State).addNode("work", work).addEdge(START, "work").addEdge("work", END).compile();

/** Runs of this name do not end until `release`. */
export const hold = (name: string): unknown => held.add(name);
export const release = (name: string): unknown => held.delete(name);

export interface Shown {
  run_id: string;
  thread_id: string;
  status: string;
  position?: number;
  waiting_for?: { rule: string; key: string; reason: string }[];
}

/** Starts a stateless run, or one on a thread. */
export async function start(caller: Caller, name: string, more: object = {}, thread?: string): Promise<Shown> {
  const path = thread === undefined ? "/runs" : `/threads/${thread}/runs`;
  const body = {
    assistant_id: "working",
    input: { name },
    metadata: { team: name },
    ...(thread === undefined && { on_completion: "keep" }),
    ...more,
  };
  const response = await caller.fetch(path, { body });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  return response.json<Shown>();
}

export async function readRun(caller: Caller, { thread_id, run_id }: Shown): Promise<Shown> {
  return (await caller.fetch(`/threads/${thread_id}/runs/${run_id}`)).json<Shown>();
}

/** The run once `test` holds for it. */
export async function waitForRun(caller: Caller, run: Shown, test: (run: Shown) => boolean): Promise<Shown> {
  for (let tries = 0; tries < 800; tries += 1) {
    const now = await readRun(caller, run);
    if (test(now)) return now;
    await waitMs(10);
  }
  throw new Error(`The run stays as it is: ${JSON.stringify(await readRun(caller, run))}`);
}

export const untilStatus = (caller: Caller, run: Shown, status: string) =>
  waitForRun(caller, run, (now) => now.status === status);

/** Waits until nothing holds a slot. */
export async function untilFree(caller: Caller, within = 10_000): Promise<void> {
  for (const end = Date.now() + within; Date.now() < end;) {
    if ((await uses(caller)).every(({ held: slots, waiting }) => slots + waiting === 0)) return;
    await waitMs(within / 1_000);
  }
  throw new Error(`Slots are still held: ${JSON.stringify(await uses(caller))}`);
}
