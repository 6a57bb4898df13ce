import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, newCaller } from "../../support/caller.ts";
import { get, newThread, say } from "../client.ts";

const UNKNOWN = "00000000-0000-4000-8000-00000000dead";
const MB = 1024 * 1024;

let caller: Caller;
let other: Caller;
beforeAll(async () => {
  [caller, other] = [await newCaller(), await newCaller()];
});

async function expectRefused(response: Response, status: number, detail: RegExp): Promise<void> {
  const text = await response.text();
  expect({ status: response.status, text }).toEqual({ status, text: expect.stringMatching(detail) });
  expect(response.headers.get("content-type")).toBe("application/problem+json");
  expect(JSON.parse(text)).toMatchObject({ status, detail: expect.stringMatching(detail) });
}

describe("a run is refused, and nothing is written,", () => {
  const run = { assistant_id: "echo", input: say("hi") };
  const cases: [name: string, body: unknown, status: number, detail: RegExp][] = [
    ["without an assistant", { input: {} }, 422, /assistant_id/],
    ["with an unknown assistant", { ...run, assistant_id: UNKNOWN }, 404, /No assistant found/],
    ["with an assistant id of a wrong type", { ...run, assistant_id: 5 }, 422, /assistant_id/],
    ["with an unknown stream mode", { ...run, stream_mode: ["everything"] }, 422, /stream_mode/],
    ["with a config of a wrong type", { ...run, config: "fast" }, 422, /config/],
    ["with an unknown strategy", { ...run, multitask_strategy: "maybe" }, 422, /multitask_strategy/],
    ["with a checkpoint that is no id", { ...run, checkpoint: { checkpoint_id: 7 } }, 422, /checkpoint/],
    ["as malformed JSON", '{"assistant_id": "echo",', 400, /Malformed JSON/],
    ["as a JSON list", "[]", 422, /body/],
    ["over the limit of a body", { ...run, input: { text: "x".repeat(9 * MB) } }, 413, /larger/],
  ];
  it.each(cases)("%s", async (_name, body, status, detail) => {
    const thread = await newThread(caller);
    const options = { body, headers: { "content-type": "application/json" } };
    for (const way of ["", "/stream", "/wait"]) {
      await expectRefused(await caller.fetch(`/threads/${thread}/runs${way}`, options), status, detail);
    }
    expect(await get<unknown[]>(caller, `/threads/${thread}/runs`)).toEqual([]);
    expect(await get(caller, `/threads/${thread}`)).toMatchObject({ status: "idle" });
  });

  it("on an unknown thread, unless it is to be created", async () => {
    for (const way of ["", "/stream", "/wait"]) {
      await expectRefused(await caller.fetch(`/threads/${UNKNOWN}/runs${way}`, { body: run }), 404, /not found/i);
    }
    await expectRefused(await caller.fetch(`/threads/${UNKNOWN}`), 404, /not found/i);
  });
});

describe("what is not there", () => {
  it.each(["", "/state", "/runs", `/runs/${UNKNOWN}`, `/runs/${UNKNOWN}/stream`, `/runs/${UNKNOWN}/join`])(
    "GET /threads/{unknown}%s is a 404",
    async (path) => expectRefused(await caller.fetch(`/threads/${UNKNOWN}${path}`), 404, /not found/i),
  );

  it("an unknown run of a known thread is a 404, also to cancel", async () => {
    const thread = await newThread(caller);
    for (const path of ["", "/stream", "/join"]) {
      await expectRefused(await caller.fetch(`/threads/${thread}/runs/${UNKNOWN}${path}`), 404, /not found/i);
    }
    const cancel = await caller.fetch(`/threads/${thread}/runs/${UNKNOWN}/cancel`, { method: "POST" });
    await expectRefused(cancel, 404, /not found/i);
  });

  it("an id that is no id is a 422", async () => {
    await expectRefused(await caller.fetch("/threads/not-an-id"), 422, /thread_id/);
    const thread = await newThread(caller);
    await expectRefused(await caller.fetch(`/threads/${thread}/runs/5`), 422, /run_id/);
  });

  it("a flag is true or false, in any spelling, and one without a value is false", async () => {
    const thread = await newThread(caller);
    for (const flag of ["True", "false", "1", "0", ""]) await get(caller, `/threads/${thread}/state?subgraphs=${flag}`);
    await expectRefused(await caller.fetch(`/threads/${thread}/state?subgraphs=maybe`), 422, /true or false/);
  });

  it("is what another workspace's thread looks like", async () => {
    const thread = await newThread(caller);
    const run = await caller.fetch(`/threads/${thread}/runs`, { body: { assistant_id: "echo", input: say("x") } });
    const { run_id } = await run.json<{ run_id: string }>();
    for (const path of ["", "/state", `/runs/${run_id}`, `/runs/${run_id}/stream`, `/runs/${run_id}/join`]) {
      const theirs = await other.fetch(`/threads/${thread}${path}`);
      const unknown = await other.fetch(`/threads/${UNKNOWN}${path}`);
      const said = (await unknown.text()).replaceAll(UNKNOWN, thread);
      expect([theirs.status, await theirs.text()]).toEqual([unknown.status, said]);
      expect(theirs.status).toBe(404);
    }
    const started = await other.fetch(`/threads/${thread}/runs`, { body: { assistant_id: "echo", input: say("x") } });
    expect(started.status).toBe(404);
    expect(await get<unknown[]>(caller, `/threads/${thread}/runs`)).toHaveLength(1);
  });
});

describe("a state", () => {
  it("of a few MB is kept whole", async () => {
    const thread = await newThread(caller);
    const content = "0123456789".repeat(300_000);
    const body = { assistant_id: "echo", input: say(content) };
    await (await caller.fetch(`/threads/${thread}/runs/wait`, { body })).json();
    const state = await get<{ values: { messages: { content: string }[] } }>(caller, `/threads/${thread}/state`);
    expect(state.values.messages.map((message) => message.content.length)).toEqual([3_000_000, 3_000_010]);
  });

  it("update that names an unknown node is refused, and changes nothing", async () => {
    const thread = await newThread(caller);
    const body = { assistant_id: "echo", input: say("hi") };
    await (await caller.fetch(`/threads/${thread}/runs/wait`, { body })).json();
    const before = await get(caller, `/threads/${thread}/state`);
    const update = { values: say("x"), as_node: "nowhere" };
    const response = await caller.fetch(`/threads/${thread}/state`, { body: update });
    await expectRefused(response, 422, /nowhere/);
    expect(await get(caller, `/threads/${thread}/state`)).toEqual(before);
  });
});
