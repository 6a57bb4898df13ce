/**
 * Random sequences of operations on threads, against a small model of what they must leave behind.
 * `SEQUENCES=20000 SEED=…` runs more, or the same again.
 */
import { expect, it } from "vitest";
import { generator, SEED } from "../support/random.ts";
import { newCaller, type Caller } from "../support/caller.ts";
import { get, newThread, say } from "./client.ts";
import { amount } from "../support/thorough.ts";

/** What a run or an update left: the texts so far, and whether a question waits. */
interface Left {
  run?: string;
  turns: string[];
  waiting: boolean;
}

interface ModelThread {
  id: string;
  /** The last one counts. Without a run that is deleted, the one before it does. */
  states: Left[];
  graph?: "echo" | "approval";
  /** Runs that a later moment would start. */
  late: string[];
  runs: Map<string, string>;
}

const turnsOf = ({ states }: ModelThread): string[] => states.at(-1)?.turns ?? [];
const isWaiting = ({ states }: ModelThread): boolean => states.at(-1)?.waiting ?? false;

/** The thread after a run or an update said these texts. */
function leave(thread: ModelThread, texts: string[], run?: string, before = turnsOf(thread)): void {
  thread.states.push({ run, turns: [...before, ...texts], waiting: false });
}

type Picker = <T>(from: T[]) => T | undefined;
type Operation = (caller: Caller, model: ModelThread[], random: Picker, log: string[]) => Promise<void>;

interface RunBody {
  run_id: string;
  status: string;
}

interface State {
  values: { messages?: { content: string }[] };
  next: string[];
  checkpoint: object;
}

async function start(caller: Caller, thread: ModelThread, body: object): Promise<RunBody> {
  const run = await (await caller.fetch(`/threads/${thread.id}/runs`, { body })).json<RunBody>();
  await get(caller, `/threads/${thread.id}/runs/${run.run_id}/join`);
  return run;
}

const operations: Record<string, Operation> = {
  async create(caller, model) {
    model.push({ id: await newThread(caller), states: [], late: [], runs: new Map() });
  },
  async echo(caller, model, random, log) {
    const thread = random(model.filter(({ graph }) => graph !== "approval"));
    if (!thread) return;
    const text = `t${log.length}`;
    const run = await start(caller, thread, { assistant_id: "echo", input: say(text) });
    thread.graph = "echo";
    leave(thread, [text, `You said: ${text}`], run.run_id);
    thread.runs.set(run.run_id, "success");
  },
  async ask(caller, model, random) {
    const thread = random(model.filter((one) => one.graph !== "echo" && !isWaiting(one)));
    if (!thread) return;
    const run = await start(caller, thread, { assistant_id: "approval", input: say("Write to ada@example.com: hi") });
    thread.graph = "approval";
    thread.states.push({ run: run.run_id, turns: [], waiting: true });
    thread.runs.set(run.run_id, "interrupted");
  },
  async answer(caller, model, random) {
    const thread = random(model.filter(isWaiting));
    if (!thread) return;
    const type = random(["approve", "reject"]) ?? "approve";
    const command = { resume: { decisions: [{ type, message: "no" }] } };
    const run = await start(caller, thread, { assistant_id: "approval", command });
    thread.states.push({ run: run.run_id, turns: [], waiting: false });
    thread.runs.set(run.run_id, "success");
  },
  async later(caller, model, random) {
    const thread = random(model.filter((one) => one.graph === "echo"));
    if (!thread) return;
    const body = { assistant_id: "echo", input: say("never"), after_seconds: 3600 };
    const run = await (await caller.fetch(`/threads/${thread.id}/runs`, { body })).json<RunBody>();
    thread.late.push(run.run_id);
    thread.runs.set(run.run_id, "pending");
  },
  async reject(caller, model, random) {
    const thread = random(model.filter((one) => one.late.length > 0));
    if (!thread) return;
    const body = { assistant_id: "echo", input: say("no"), multitask_strategy: "reject" };
    expect((await caller.fetch(`/threads/${thread.id}/runs`, { body })).status).toBe(409);
  },
  async replace(caller, model, random, log) {
    const thread = random(model.filter((one) => one.late.length > 0));
    if (!thread) return;
    const strategy = random(["interrupt", "rollback"]) ?? "interrupt";
    const text = `r${log.length}`;
    const run = await start(caller, thread, { assistant_id: "echo", input: say(text), multitask_strategy: strategy });
    for (const id of thread.late) {
      if (strategy === "rollback") thread.runs.delete(id);
      else thread.runs.set(id, "interrupted");
    }
    thread.late = [];
    leave(thread, [text, `You said: ${text}`], run.run_id);
    thread.runs.set(run.run_id, "success");
  },
  async cancel(caller, model, random) {
    const thread = random(model.filter((one) => one.late.length > 0));
    const id = thread?.late.pop();
    if (!thread || !id) return;
    const action = random(["interrupt", "rollback"]);
    await caller.fetch(`/threads/${thread.id}/runs/${id}/cancel?wait=1&action=${action}`, { method: "POST" });
    if (action === "rollback") thread.runs.delete(id);
    else thread.runs.set(id, "interrupted");
  },
  async queue(caller, model, random, log) {
    const thread = random(model.filter(({ graph }) => graph !== "approval"));
    if (!thread) return;
    const texts = ["a", "b", "c"].map((letter) => `q${log.length}${letter}`);
    const runs: RunBody[] = [];
    for (const text of texts) {
      const body = { assistant_id: "echo", input: say(text), multitask_strategy: random(["enqueue", undefined]) };
      runs.push(await (await caller.fetch(`/threads/${thread.id}/runs`, { body })).json<RunBody>());
    }
    for (const [i, { run_id }] of runs.entries()) {
      await get(caller, `/threads/${thread.id}/runs/${run_id}/join`);
      thread.runs.set(run_id, "success");
      leave(thread, [texts[i] ?? "", `You said: ${texts[i]}`], run_id);
    }
    thread.graph = "echo";
  },
  async write(caller, model, random, log) {
    const thread = random(model.filter((one) => one.graph === "echo"));
    if (!thread) return;
    const content = `w${log.length}`;
    const body = { values: { messages: [{ role: "assistant", content }] }, as_node: "echo" };
    const written = await caller.fetch(`/threads/${thread.id}/state`, { body });
    expect(written.status).toBe(200);
    leave(thread, [content]);
  },
  async fork(caller, model, random, log) {
    const thread = random(model.filter((one) => one.graph === "echo"));
    if (!thread) return;
    const past = await get<State[]>(caller, `/threads/${thread.id}/history?limit=50`);
    const from = random(past.filter(({ next }) => next.length === 0));
    if (!from) return;
    const text = `f${log.length}`;
    const { checkpoint } = from;
    const run = await start(caller, thread, { assistant_id: "echo", input: say(text), checkpoint });
    const before = (from.values.messages ?? []).map(({ content }) => content);
    leave(thread, [text, `You said: ${text}`], run.run_id, before);
    thread.runs.set(run.run_id, "success");
  },
  async forget(caller, model, random) {
    const thread = random(model.filter((one) => one.runs.size > 0));
    const id = random([...(thread?.runs.keys() ?? [])]);
    if (!thread || !id) return;
    const path = `/threads/${thread.id}/runs/${id}`;
    expect((await caller.fetch(path, { method: "DELETE" })).status).toBe(204);
    expect((await caller.fetch(path)).status).toBe(404);
    thread.runs.delete(id);
    thread.states = thread.states.filter((state) => state.run !== id);
    thread.late = thread.late.filter((one) => one !== id);
  },
  async prune(caller, model, random) {
    const thread = random(model.filter((one) => one.graph !== undefined));
    if (!thread) return;
    const body = { thread_ids: [thread.id], strategy: "keep_latest" };
    expect(await (await caller.fetch("/threads/prune", { body })).json()).toEqual({ pruned_count: 1 });
    expect(await get<State[]>(caller, `/threads/${thread.id}/history?limit=50`)).toHaveLength(
      Math.min(1, thread.states.length),
    );
    thread.states = thread.states.slice(-1);
  },
  async copy(caller, model, random) {
    const thread = random(model);
    if (!thread || model.length > 6) return;
    const response = await caller.fetch(`/threads/${thread.id}/copy`, { method: "POST" });
    const { thread_id } = await response.json<{ thread_id: string }>();
    model.push({ ...thread, id: thread_id, states: [...thread.states], late: [], runs: new Map() });
  },
  async remove(caller, model, random) {
    const thread = random(model);
    if (!thread || model.length < 2) return;
    expect((await caller.fetch(`/threads/${thread.id}`, { method: "DELETE" })).status).toBe(204);
    expect((await caller.fetch(`/threads/${thread.id}`)).status).toBe(404);
    model.splice(model.indexOf(thread), 1);
  },
};

async function check(caller: Caller, model: ModelThread[]): Promise<void> {
  for (const thread of model) {
    const state = await get<{ status: string; values: { messages?: { content: string }[] } | null }>(
      caller,
      `/threads/${thread.id}`,
    );
    expect(state.status).toBe(isWaiting(thread) ? "interrupted" : "idle");
    const texts = (state.values?.messages ?? []).map((message) => message.content);
    expect(thread.graph === "approval" ? [] : texts).toEqual(turnsOf(thread));
    const runs = await get<RunBody[]>(caller, `/threads/${thread.id}/runs?limit=100`);
    expect(new Map(runs.map((run) => [run.run_id, run.status]))).toEqual(thread.runs);
  }
  await expect
    .poll(async () => {
      const found = await (
        await caller.fetch("/threads/search", { body: { limit: 100 } })
      ).json<{ thread_id: string; status: string }[]>();
      return new Map(found.map((one) => [one.thread_id, one.status]));
    })
    .toEqual(new Map(model.map((one) => [one.id, isWaiting(one) ? "interrupted" : "idle"])));
}

const SEQUENCES = amount("SEQUENCES", 20, 2_000);

// oxlint-disable-next-line vitest/expect-expect -- they are in the operations and in `check`
it(
  `${SEQUENCES} random sequences leave what the model says (SEED=${SEED})`,
  { timeout: 500 * SEQUENCES + 300_000 },
  async () => {
    for (let sequence = 0; sequence < SEQUENCES; sequence++) {
      const next = generator(SEED + sequence);
      const random: Picker = (from) => from[Math.floor(next() * from.length)];
      const caller = await newCaller();
      const model: ModelThread[] = [];
      const log: string[] = [];
      try {
        await operations.create?.(caller, model, random, log);
        for (let step = 0; step < 8; step++) {
          const name = random(Object.keys(operations)) ?? "echo";
          log.push(name);
          await operations[name]?.(caller, model, random, log);
        }
        await check(caller, model);
      } catch (error) {
        throw new Error(`Sequence with seed ${SEED + sequence} (${log.join(", ")}): ${String(error)}`, {
          cause: error,
        });
      }
    }
  },
);
