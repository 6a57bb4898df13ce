/** What clients of each part do while objects restart: one piece of work each, with what must hold of its outcome. */
import { expectKept, numberEvents, numberFrames } from "../support/live-tokens.ts";
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { fireDueCrons, startFiring, threadsFor } from "../../src/automation/crons/fire.ts";
import { nextDue } from "../../src/automation/crons/schedule.ts";
import type { FiringRow } from "../../src/automation/crons/store.ts";
import { database } from "../../src/db/client.ts";
import { message1, rpc } from "../protocols/a2a/rpc.ts";
import { pause } from "../support/aborts.ts";
import { injected } from "../support/failing-storage.ts";
import { command, human, isEnd, ofRoot, read as readEvents } from "../protocols/streaming/client.ts";
import { NOON, sentRun } from "../support/traces.ts";
import { get, newThread, parseFrames, say } from "../threads/client.ts";
import { effects } from "./effects.ts";
import { readSocket } from "./socket.ts";
import { type Client, isOutage, noteThread } from "./world.ts";

const QUESTION = "count to 6";
const COUNTED = [QUESTION, "1 2 3 4 5 6"];
const body = { assistant_id: "agent", input: say(QUESTION), stream_mode: ["values", "messages-tuple"] };

interface Values {
  messages: { content: string }[];
}

const listSaid = (values: unknown) => (values as Values).messages.map(({ content }) => content);

async function freshThread(client: Client): Promise<string> {
  const thread = await newThread(client);
  noteThread(client, thread);
  return thread;
}

/** Starts a run with a command, on a new thread. A command that failed because storage did is sent again. */
async function started(caller: Client): Promise<string> {
  const thread = crypto.randomUUID();
  noteThread(caller, thread);
  const start = { assistant_id: "agent", input: human(QUESTION) };
  const before = injected.count;
  for (;;) {
    const answer = await command(caller, thread, "run.start", start);
    if (answer.type === "success") return thread;
    if (injected.count === before) throw new Error(JSON.stringify(answer));
    await pause(200);
  }
}

/** Sends an A2A message. One that failed because storage did is sent again, with its Idempotency-Key. */
async function sendMessage(caller: Client, configuration: object) {
  const params = { message: message1(QUESTION), configuration };
  const headers = { "idempotency-key": crypto.randomUUID() };
  const before = injected.count;
  for (;;) {
    const { result, error } = await rpc(caller, "SendMessage", params, { agent: "agent", headers });
    if (!error) return (result as { task: Task }).task;
    if (injected.count === before) throw new Error(JSON.stringify(error));
    await pause(200);
  }
}

interface Task {
  id: string;
  contextId: string;
  status: { state: string };
}

/** The thread has one run, which succeeded once. Returns its id. */
async function findOnlyRun(caller: Client, thread: string): Promise<string> {
  const runs = await get<{ run_id: string; status: string }[]>(caller, `/threads/${thread}/runs`);
  expect(runs).toMatchObject([{ status: "success" }]);
  const { values } = await get<{ values: Values }>(caller, `/threads/${thread}/state`);
  expect(listSaid(values)).toEqual(COUNTED);
  const id = runs[0]?.run_id ?? "";
  caller.traced.add(id);
  return id;
}

export const engines: Record<string, (caller: Client) => Promise<void>> = {
  ...effects,

  async wait(caller) {
    const thread = await freshThread(caller);
    const answer = await caller.fetch(`/threads/${thread}/runs/wait`, { body });
    expect(listSaid(await answer.json())).toEqual(COUNTED);
    await findOnlyRun(caller, thread);
  },

  async stateless(caller) {
    const answer = await caller.fetch("/runs/wait", { body });
    expect(listSaid(await answer.json())).toEqual(COUNTED);
    caller.traced.add(/runs\/([\w-]+)/.exec(answer.headers.get("content-location") ?? "")?.[1] ?? "no id");
  },

  async join(caller) {
    const thread = await freshThread(caller);
    const run = await (await caller.fetch(`/threads/${thread}/runs`, { body })).json<{ run_id: string }>();
    expect(listSaid(await get(caller, `/threads/${thread}/runs/${run.run_id}/join`))).toEqual(COUNTED);
    expect(await findOnlyRun(caller, thread)).toBe(run.run_id);
  },

  async stream(caller) {
    const thread = await freshThread(caller);
    const frames = parseFrames(await (await caller.fetch(`/threads/${thread}/runs/stream`, { body })).text());
    const ids = frames.map(({ id }) => Number(id));
    expect(ids).toEqual([...new Set(ids)].toSorted((a, b) => a - b));
    expect(listSaid(frames.findLast(({ event }) => event === "values")?.data)).toEqual(COUNTED);
    const run = await findOnlyRun(caller, thread);
    const replay = await caller.fetch(`/threads/${thread}/runs/${run}/stream`, { headers: { "last-event-id": "-1" } });
    expectKept(numberFrames(frames), numberFrames(parseFrames(await replay.text())));
  },

  async protocol(caller) {
    const thread = await started(caller);
    const filter = { channels: ["values", "messages", "lifecycle"] };
    const events = await readEvents(caller, thread, filter);
    expect(ofRoot(events).filter((event) => event !== "running")).toEqual(["completed"]);
    expectKept(numberEvents(events), numberEvents(await readEvents(caller, thread, filter)));
    await findOnlyRun(caller, thread);
  },

  async socket(caller) {
    const thread = await started(caller);
    const events = await readSocket(caller, thread, isEnd);
    expectKept(numberEvents(events), numberEvents(await readEvents(caller, thread)));
    await findOnlyRun(caller, thread);
  },

  async a2a(caller) {
    const push = { url: "https://hooks.example/a2a" };
    const task = await sendMessage(caller, { taskPushNotificationConfig: push });
    expect(task.status.state).toBe("TASK_STATE_COMPLETED");
    const runs = await get<{ run_id: string }[]>(caller, `/threads/${task.contextId}/runs`);
    expect(runs).toHaveLength(1);
    noteThread(caller, task.contextId);
    caller.hooked.add(task.id);
    caller.traced.add(runs[0]?.run_id ?? "no id");
  },

  /** Ticks come early, late and again; so do messages, in any order. The due time starts one run. */
  async cron(caller) {
    const { random } = caller;
    const thread = await freshThread(caller);
    // Far enough for no jump of the clock to reach it, and the same for all clients: each tick finds the crons of others.
    const schedule = "0 12 29 2 *";
    const input = { assistant_id: "agent", schedule, input: say(QUESTION) };
    const answer = await caller.fetch(`/threads/${thread}/runs/crons`, { body: input });
    const { cron_id } = await answer.json<{ cron_id: string }>();
    // Not the answer's: when storage failed the request was repeated, and a tick of another client may have come before.
    const due = nextDue({ schedule, timezone: null, endTime: null }, Date.now()) ?? 0;
    const sent: FiringRow[] = [];
    const CRON_QUEUE = {
      sendBatch: async (batch: { body: FiringRow }[]) => void sent.push(...batch.map(({ body: firing }) => firing)),
    };
    for (let minute = 0; minute < 4 || !(await countRuns(caller, thread)); minute += 1) {
      const now = due + minute * 60_000 + random.between(-30_000, 30_000);
      await repeatUntilDone(() => fireDueCrons({ DB: env.DB, CRON_QUEUE } as never, now));
      const taken = sent.filter(() => random.next() < 0.6);
      const late = sent.filter((firing) => !taken.includes(firing));
      // A message may be delivered again, at any later time.
      sent.splice(0, sent.length, ...late, ...taken.filter(() => random.next() < 0.3));
      const copies = taken.flatMap((firing) => Array.from({ length: random.between(1, 4) }, () => firing));
      await Promise.all(
        copies.map((firing) => repeatUntilDone(() => startFiring(database(env.DB), firing, threadsFor(env), now))),
      );
    }
    const [run] = await get<{ run_id: string }[]>(caller, `/threads/${thread}/runs`);
    expect(listSaid(await get(caller, `/threads/${thread}/runs/${run?.run_id}/join`))).toEqual(COUNTED);
    await findOnlyRun(caller, thread);
    await caller.fetch(`/runs/crons/${cron_id}`, { method: "DELETE" });
  },

  async ingest(caller) {
    const end_time = new Date(NOON / 1000 + 5).toISOString();
    const run = sentRun(NOON, { outputs: { text: "x".repeat(1_000) }, end_time });
    // An SDK sends a batch again when its answer is lost.
    for (let i = caller.random.between(1, 3); i > 0; i -= 1)
      expect((await caller.fetch("/runs/batch", { body: { post: [run] } })).status).toBe(202);
    expect(await get(caller, `/api/v1/runs/${run.id}`)).toMatchObject({ id: run.id, outputs: run.outputs });
  },
};

const countRuns = async (caller: Client, thread: string) =>
  (await get<{ run_id: string }[]>(caller, `/threads/${thread}/runs`)).length;

/** The next minute repeats a tick that failed, and a queue delivers a message whose work failed again. */
async function repeatUntilDone(work: () => Promise<unknown>): Promise<void> {
  const before = injected.count;
  for (;;) {
    try {
      await work();
      return;
    } catch (error) {
      if (!isOutage(error, before)) throw error;
      await pause(50);
    }
  }
}
