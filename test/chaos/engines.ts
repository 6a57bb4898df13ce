/** What clients of each part do while objects restart: one piece of work each, with what must hold of its outcome. */
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { fireDueCrons, startFiring } from "../../src/crons/fire.ts";
import { threadsOf } from "../../src/crons/start.ts";
import type { Firing } from "../../src/crons/store.ts";
import { database } from "../../src/db/client.ts";
import { message1, result as a2a } from "../a2a/rpc.ts";
import { command, human, isEnd, ofRoot, read as readEvents } from "../streaming/client.ts";
import { NOON, sentRun } from "../support/traces.ts";
import { get, newThread, parseFrames, say } from "../threads/client.ts";
import { effects } from "./effects.ts";
import { readSocket } from "./socket.ts";
import { type Client, noteThread } from "./world.ts";

const QUESTION = "count to 6";
const COUNTED = [QUESTION, "1 2 3 4 5 6"];
const body = { assistant_id: "agent", input: say(QUESTION), stream_mode: ["values", "messages-tuple"] };
const start = { assistant_id: "agent", input: human(QUESTION) };

interface Values {
  messages: { content: string }[];
}

const said = (values: unknown) => (values as Values).messages.map(({ content }) => content);

async function freshThread(client: Client): Promise<string> {
  const thread = await newThread(client);
  noteThread(client, thread);
  return thread;
}

/** The thread has one run, which succeeded once. Returns its id. */
async function onlyRun(caller: Client, thread: string): Promise<string> {
  const runs = await get<{ run_id: string; status: string }[]>(caller, `/threads/${thread}/runs`);
  expect(runs).toMatchObject([{ status: "success" }]);
  const { values } = await get<{ values: Values }>(caller, `/threads/${thread}/state`);
  expect(said(values)).toEqual(COUNTED);
  const id = runs[0]?.run_id ?? "";
  caller.traced.add(id);
  return id;
}

export const engines: Record<string, (caller: Client) => Promise<void>> = {
  ...effects,

  async wait(caller) {
    const thread = await freshThread(caller);
    const answer = await caller.fetch(`/threads/${thread}/runs/wait`, { body });
    expect(said(await answer.json())).toEqual(COUNTED);
    await onlyRun(caller, thread);
  },

  async stateless(caller) {
    const answer = await caller.fetch("/runs/wait", { body });
    expect(said(await answer.json())).toEqual(COUNTED);
    caller.traced.add(/runs\/([\w-]+)/.exec(answer.headers.get("content-location") ?? "")?.[1] ?? "no id");
  },

  async join(caller) {
    const thread = await freshThread(caller);
    const run = await (await caller.fetch(`/threads/${thread}/runs`, { body })).json<{ run_id: string }>();
    expect(said(await get(caller, `/threads/${thread}/runs/${run.run_id}/join`))).toEqual(COUNTED);
    expect(await onlyRun(caller, thread)).toBe(run.run_id);
  },

  async stream(caller) {
    const thread = await freshThread(caller);
    const frames = parseFrames(await (await caller.fetch(`/threads/${thread}/runs/stream`, { body })).text());
    const ids = frames.map(({ id }) => Number(id));
    expect(ids).toEqual([...new Set(ids)].toSorted((a, b) => a - b));
    expect(said(frames.findLast(({ event }) => event === "values")?.data)).toEqual(COUNTED);
    const run = await onlyRun(caller, thread);
    const replay = await caller.fetch(`/threads/${thread}/runs/${run}/stream`, { headers: { "last-event-id": "-1" } });
    expect(parseFrames(await replay.text())).toEqual(frames);
  },

  async protocol(caller) {
    const thread = crypto.randomUUID();
    noteThread(caller, thread);
    await command(caller, thread, "run.start", start);
    const filter = { channels: ["values", "messages", "lifecycle"] };
    const events = await readEvents(caller, thread, filter);
    expect(ofRoot(events).filter((event) => event !== "running")).toEqual(["completed"]);
    expect(events).toEqual(await readEvents(caller, thread, filter));
    await onlyRun(caller, thread);
  },

  async socket(caller) {
    const thread = crypto.randomUUID();
    noteThread(caller, thread);
    await command(caller, thread, "run.start", start);
    const events = await readSocket(caller, thread, isEnd);
    expect(events).toEqual(await readEvents(caller, thread));
    await onlyRun(caller, thread);
  },

  async a2a(caller) {
    const { task } = (await a2a(caller, "SendMessage", { message: message1(QUESTION) }, { agent: "agent" })) as {
      task: { status: { state: string }; contextId: string };
    };
    expect(task.status.state).toBe("TASK_STATE_COMPLETED");
    const [run] = await get<{ run_id: string }[]>(caller, `/threads/${task.contextId}/runs`);
    caller.traced.add(run?.run_id ?? "no id");
  },

  async cron(caller) {
    const thread = await freshThread(caller);
    const cron = await (
      await caller.fetch(`/threads/${thread}/runs/crons`, {
        body: { assistant_id: "agent", schedule: "0 12 * * *", input: say(QUESTION) },
      })
    ).json<{ cron_id: string; next_run_date: string }>();
    const due = Date.parse(cron.next_run_date);
    const messages: Firing[] = [];
    const CRON_QUEUE = {
      sendBatch: async (batch: { body: Firing }[]) => void messages.push(...batch.map(({ body: firing }) => firing)),
    };
    await fireDueCrons({ DB: env.DB, CRON_QUEUE } as never, due);
    // A queue delivers at least once, in any order, and sometimes the same message to two consumers.
    const copies = Array.from({ length: caller.random.between(1, 4) }, () => messages).flat();
    await Promise.all(copies.map((firing) => delivered(firing, due)));
    const [run] = await get<{ run_id: string }[]>(caller, `/threads/${thread}/runs`);
    expect(said(await get(caller, `/threads/${thread}/runs/${run?.run_id}/join`))).toEqual(COUNTED);
    await onlyRun(caller, thread);
    await caller.fetch(`/runs/crons/${cron.cron_id}`, { method: "DELETE" });
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

/** A queue delivers a message whose work failed again. */
async function delivered(firing: Firing, now: number): Promise<void> {
  for (;;) {
    try {
      return await startFiring(database(env.DB), firing, threadsOf(env), now);
    } catch (error) {
      if (!/abort|reset|503|overloaded|restart/i.test(String(error))) throw error;
    }
  }
}
