/**
 * All engines at work while every Durable Object is aborted at random moments, as at a deploy: clients see no failure,
 * nothing is lost, and nothing comes twice. `ABORTS=500 SEED=…` aborts more often, or at the same moments again.
 */
import { abortAllDurableObjects } from "cloudflare:test";
import { expect, it } from "vitest";
import { message1, result as a2a } from "../a2a/rpc.ts";
import { command, human, isEnd, read as readEvents } from "../streaming/client.ts";
import { pause } from "../support/aborts.ts";
import { type Caller, newCaller } from "../support/caller.ts";
import { seeded } from "../support/random.ts";
import { NOON, sentRun } from "../support/traces.ts";
import { get, newThread, parseFrames, say } from "./client.ts";

const ABORTS = Number(process.env.ABORTS || 20);
const COUNTED = "1 2 3 4 5 6";
const QUESTION = "count to 6";
const body = { assistant_id: "agent", input: say(QUESTION), stream_mode: ["values", "messages-tuple"] };

interface Values {
  messages: { content: string }[];
}

const said = ({ messages }: Values) => messages.map(({ content }) => content);

/** The thread has one run, which succeeded, and a log without a gap for the reader who asks for all of it. */
async function expectOneRun(caller: Caller, thread: string): Promise<string> {
  const runs = await get<{ run_id: string; status: string }[]>(caller, `/threads/${thread}/runs`);
  expect(runs).toMatchObject([{ status: "success" }]);
  return runs[0]?.run_id ?? "";
}

const engines: Record<string, (caller: Caller) => Promise<void>> = {
  async wait(caller) {
    const thread = await newThread(caller);
    const answer = await caller.fetch(`/threads/${thread}/runs/wait`, { body });
    expect(said(await answer.json<Values>())).toEqual([QUESTION, COUNTED]);
    await expectOneRun(caller, thread);
  },
  async stateless(caller) {
    const answer = await caller.fetch("/runs/wait", { body });
    expect(said(await answer.json<Values>())).toEqual([QUESTION, COUNTED]);
  },
  async join(caller) {
    const thread = await newThread(caller);
    const run = await (await caller.fetch(`/threads/${thread}/runs`, { body })).json<{ run_id: string }>();
    expect(said(await get<Values>(caller, `/threads/${thread}/runs/${run.run_id}/join`))).toEqual([QUESTION, COUNTED]);
  },
  async stream(caller) {
    const thread = await newThread(caller);
    const text = await (await caller.fetch(`/threads/${thread}/runs/stream`, { body })).text();
    const frames = parseFrames(text);
    const ids = frames.map(({ id }) => Number(id));
    expect(ids).toEqual([...new Set(ids)].toSorted((a, b) => a - b));
    expect(said(frames.findLast(({ event }) => event === "values")?.data as unknown as Values)).toEqual([
      QUESTION,
      COUNTED,
    ]);
    const run = await expectOneRun(caller, thread);
    const headers = { "last-event-id": "-1" };
    const again = await caller.fetch(`/threads/${thread}/runs/${run}/stream`, { headers });
    expect(await again.text()).toBe(text);
  },
  async protocol(caller) {
    const thread = crypto.randomUUID();
    await command(caller, thread, "run.start", { assistant_id: "agent", input: human(QUESTION) });
    const events = await readEvents(caller, thread, { channels: ["values", "messages", "lifecycle"] });
    expect(events.filter(isEnd).map(({ params }) => params.data.event)).toEqual(["completed"]);
    const ids = events.map(({ event_id }) => event_id);
    expect(new Set(ids).size).toBe(ids.length);
  },
  async a2a(caller) {
    const { task } = (await a2a(caller, "SendMessage", { message: message1(QUESTION) }, { agent: "agent" })) as {
      task: { status: { state: string } };
    };
    expect(task.status.state).toBe("TASK_STATE_COMPLETED");
  },
  async ingest(caller) {
    const run = sentRun(NOON, {
      outputs: { text: "x".repeat(1_000) },
      end_time: new Date(NOON / 1000 + 5).toISOString(),
    });
    expect((await caller.fetch("/runs/batch", { body: { post: [run] } })).status).toBe(202);
    expect(await get(caller, `/api/v1/runs/${run.id}`)).toMatchObject({ id: run.id, outputs: run.outputs });
  },
};

it(`${ABORTS} aborts under all engines`, { timeout: 120_000 + ABORTS * 2_000 }, async () => {
  const random = seeded("chaos");
  const caller = await newCaller();
  let aborting = true;
  const done: Record<string, number> = {};
  const clients = Object.entries(engines).map(async ([name, work]) => {
    while (aborting) {
      await work(caller);
      done[name] = (done[name] ?? 0) + 1;
    }
  });
  const aborts = (async () => {
    for (let i = 0; i < ABORTS; i += 1) {
      await pause(random.between(150, 700));
      await abortAllDurableObjects();
    }
    aborting = false;
  })();
  await Promise.all([aborts, ...clients]);
  console.log(`chaos: ${ABORTS} aborts, ${JSON.stringify(done)}`);
  expect(Object.keys(done).toSorted()).toEqual(Object.keys(engines).toSorted());
});
