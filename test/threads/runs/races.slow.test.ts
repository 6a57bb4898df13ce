/** Fifty clients start a run on one thread at the same moment: what is left is what the strategy says. */
import { expect, it } from "vitest";
import { newCaller } from "../../support/caller.ts";
import { get, newThread, say } from "../client.ts";

const MANY = 50;

interface RunBody {
  run_id: string;
  status: string;
}

/** Starts them all, waits for the open ones, and gives the answers' statuses, the runs, and the messages said. */
async function race(strategy: string) {
  const caller = await newCaller();
  const thread = await newThread(caller);
  const start = async (n: number) => {
    // The demo agent's words take time, so that the first run is still open when the others come.
    const assistant_id = strategy === "enqueue" ? "echo" : "agent";
    const body = { assistant_id, input: say(`hello ${n}`), multitask_strategy: strategy };
    return caller.fetch(`/threads/${thread}/runs`, { body });
  };
  const answers = await Promise.all(Array.from({ length: MANY }, async (_, n) => start(n)));
  const statuses = answers.map((answer) => answer.status);
  const path = `/threads/${thread}/runs?limit=100`;
  for (const { run_id } of await get<RunBody[]>(caller, path)) {
    await (await caller.fetch(`/threads/${thread}/runs/${run_id}/join`)).text();
  }
  const runs = await get<RunBody[]>(caller, path);
  const { values } = await get<{ values: { messages: { type: string }[] } }>(caller, `/threads/${thread}`);
  const said = values.messages.filter((message) => message.type === "human").length;
  const count = (status: string) => runs.filter((run) => run.status === status).length;
  return { statuses, runs, said, count };
}

it("reject: one is taken, the others are refused with 409", async () => {
  const { statuses, runs, said } = await race("reject");
  expect(statuses.toSorted((a, b) => a - b)).toEqual([200, ...Array.from({ length: MANY - 1 }, () => 409)]);
  expect(runs.map((run) => run.status)).toEqual(["success"]);
  expect(said).toBe(1);
});

it("enqueue: all are taken and all succeed", { timeout: 120_000 }, async () => {
  const { runs, said, count } = await race("enqueue");
  expect(runs).toHaveLength(MANY);
  expect(count("success")).toBe(MANY);
  expect(said).toBe(MANY);
});

it("interrupt: the last one succeeds, the others are interrupted", async () => {
  const { runs, count } = await race("interrupt");
  expect(runs).toHaveLength(MANY);
  expect(count("interrupted")).toBe(MANY - 1);
  expect(runs[0]?.status).toBe("success");
});

it("rollback: only the last one is left, and only its words", async () => {
  const { runs, said } = await race("rollback");
  expect(runs.map((run) => run.status)).toEqual(["success"]);
  expect(said).toBe(1);
});
