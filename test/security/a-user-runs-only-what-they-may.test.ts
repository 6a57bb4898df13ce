/** One decision whether a user may run an assistant on a thread, on every surface that starts runs. */
import { beforeAll, describe, expect, it } from "vitest";
import { overSocket, RUN_SURFACES } from "./run-surfaces.ts";
import { deployUsers, ownAuth, type Json, userCalled } from "./users.ts";

/** Users who may do everything but start runs. */
const still = new Set<string>();
deployUsers(
  ownAuth().on("threads:create_run", ({ value, user }) => {
    if (still.has(user.identity)) return false;
    const given = value as { metadata?: Json };
    given.metadata = { ...given.metadata, owner: user.identity };
    return { owner: user.identity };
  }),
);

// Names of this file: other files of the isolate ban users, and give theirs assistants.
const ada = userCalled("ada-runs");
const bob = userCalled("bob-runs");
const eve = userCalled("eve-may-not-run");
still.add(eve.name);

let adas: string;
beforeAll(async () => {
  adas = String((await ada.json("/assistants", { graph_id: "whoami" })).assistant_id);
});

/** What the graph wrote, when it ran. A surface that refuses may say so in any way. */
async function readWho(start: () => Promise<Json | undefined>): Promise<unknown> {
  return (await start().catch(() => undefined))?.who;
}

describe.each(Object.entries(RUN_SURFACES))("%s", (_name, start) => {
  it("runs their own assistant, and not another user's", async () => {
    const asked = { assistant_id: adas, input: {} };
    expect(await readWho(() => start(ada, asked))).toBeDefined();
    expect(await readWho(() => start(bob, asked))).toBeUndefined();
  });

  it("runs nothing for a user without threads:create_run", async () => {
    const own = String((await eve.json("/assistants", { graph_id: "whoami" })).assistant_id);
    expect(await readWho(() => start(eve, { assistant_id: own, input: {} }))).toBeUndefined();
  });
});

it("a WebSocket that is open when the permission ends starts no more runs", async () => {
  const fay = userCalled("fay");
  const thread = String((await fay.json("/threads", {})).thread_id);
  const params = { assistant_id: "whoami", input: {} };
  const answer = overSocket(fay, thread, "run.start", params, () => still.add("fay"));
  expect(await answer).toMatchObject({ type: "error", error: "permission_denied" });
  expect(await fay.json(`/threads/${thread}/runs`)).toEqual([]);
});

it("another's assistant is not used to make a thread's state", async () => {
  const path = `/api/threads/${crypto.randomUUID()}/state`;
  expect((await bob.fetch(path, { values: {}, assistant_id: adas })).status).toBe(404);
});

it("another's thread takes no run while its stateless run ends", async () => {
  const response = await ada.fetch("/runs", { assistant_id: "whoami", input: {} });
  const { run_id } = await response.json<{ run_id: string }>();
  await ada.fetch(`/runs/${run_id}/join`);
  const body = { assistant_id: "whoami", input: {}, if_not_exists: "create" };
  expect((await bob.fetch(`/threads/${run_id}/runs/wait`, body)).status).toBe(404);
  expect((await bob.fetch(`/threads/${run_id}/stream/events`, { channels: ["values"] })).status).toBe(404);
});
