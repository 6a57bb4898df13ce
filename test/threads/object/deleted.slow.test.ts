/** Threads that are deleted while others use them: what goes and what comes must not mix. */
import { expect, it } from "vitest";
import { newCaller } from "../../support/caller.ts";
import { get, say } from "../client.ts";

it("a thread that is deleted and immediately created again stays whole", async () => {
  const caller = await newCaller();
  const id = crypto.randomUUID();
  const path = `/threads/${id}`;
  const run = { assistant_id: "echo", input: say("hi"), if_not_exists: "create" };
  const calls: [method: string, path: string, body?: unknown][] = [
    ["DELETE", path],
    ["POST", `${path}/runs/wait`, run],
    ["POST", `${path}/runs`, { ...run, assistant_id: "agent", multitask_strategy: "rollback" }],
    ["POST", `${path}/runs`, { ...run, assistant_id: "agent" }],
    ["DELETE", `/api${path}`],
    ["POST", "/threads", { thread_id: id, if_exists: "do_nothing" }],
    ["POST", `/api${path}/state`, {}],
    ["POST", `${path}/copy`],
    ["DELETE", path],
    ["POST", `${path}/runs/wait`, run],
    ["GET", `${path}/state`],
  ];
  for (let round = 0; round < 15; round += 1) {
    const answers = await Promise.all(
      calls.map(async ([method, to, body]) => {
        const response = await caller.fetch(to, { method, body });
        const text = await response.text();
        return { call: `${method} ${to}`, status: response.status, text };
      }),
    );
    expect(answers.filter(({ status, text }) => status >= 500 || /SQL|JSON|UNIQUE/.test(text))).toEqual([]);
  }
  const last = await caller.fetch(`${path}/runs/wait`, { body: run });
  const { messages } = await last.json<{ messages: { content: string }[] }>();
  expect(messages.slice(-2).map(({ content }) => content)).toEqual(["hi", "You said: hi"]);
  const state = await get<{ values: object }>(caller, `${path}/state`);
  expect(state.values).toEqual({ messages });
  expect(await get<object[]>(caller, `${path}/history`)).not.toEqual([]);
  await caller.fetch(path, { method: "DELETE" });
  const found = await (await caller.fetch("/threads/search", { body: { ids: [id] } })).json();
  expect(found).toEqual([]);
}, 120_000);
