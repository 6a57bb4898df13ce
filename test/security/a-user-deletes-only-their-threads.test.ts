/** Deleting many threads at once deletes those that the `threads:delete` handler allows for each thread. */
import { describe, expect, it } from "vitest";
import { defaultAssistantId } from "../../src/agents/assistants/defaults.ts";
import { newCaller } from "../support/caller.ts";
import { deployUsers, type Json, ownAuth, userCalled } from "./users.ts";

/** Users who may not delete threads. */
const keepers = new Set(["fay"]);
deployUsers(
  ownAuth().on("threads:delete", ({ user }) => (keepers.has(user.identity) ? false : { owner: user.identity })),
);

const ada = userCalled("ada");
const bob = userCalled("bob");
const run = async (user: typeof ada, assistant_id: string, metadata: Json = {}) => {
  const { thread_id } = await user.json("/threads", { metadata });
  await user.json(`/threads/${String(thread_id)}/runs/wait`, { assistant_id, input: {} });
  return String(thread_id);
};
const status = async (user: typeof ada, thread: string) => (await user.fetch(`/threads/${thread}`)).status;

describe("an assistant that claims to be the system's", () => {
  it("is not run by others, and does not keep the claim", async () => {
    const claim = { metadata: { created_by: "system", note: 1 } };
    const made = await bob.json("/assistants", { graph_id: "whoami", ...claim });
    expect(made.metadata).toEqual({ owner: "bob", note: 1 });
    const path = `/assistants/${String(made.assistant_id)}`;
    expect((await bob.json(path, claim, "PATCH")).metadata).toEqual({ owner: "bob", note: 1 });
    const body = { assistant_id: made.assistant_id, input: {} };
    expect((await ada.fetch("/runs/wait", body)).status).toBe(404);
    const defaults = await ada.json(`/assistants/${defaultAssistantId("whoami")}`).catch(() => undefined);
    expect(defaults).toBeUndefined();
    expect((await ada.fetch("/runs/wait", { ...body, assistant_id: "whoami" })).status).toBe(200);
  });

  it("does not become a default assistant that was deleted", async () => {
    const caller = await newCaller();
    const id = defaultAssistantId("whoami");
    expect((await caller.fetch(`/assistants/${id}`)).status).toBe(200);
    expect((await caller.fetch(`/assistants/${id}`, { method: "DELETE" })).status).toBe(204);
    const body = { graph_id: "whoami", assistant_id: id, name: "mine", context: { mine: true } };
    expect((await caller.fetch("/assistants", { body })).status).toBe(409);
    const found = await (await caller.fetch(`/assistants/${id}`)).json();
    expect(found).toMatchObject({ name: "whoami", context: {} });
  });
});

describe("deleting an assistant with its threads", () => {
  it("leaves the threads of others", async () => {
    const { assistant_id } = await bob.json("/assistants", { graph_id: "whoami" });
    const id = String(assistant_id);
    const adas = await run(ada, "whoami", { assistant_id: id });
    // As a run of this assistant would leave it.
    await ada.json(`/threads/${adas}`, { metadata: { assistant_id: id } }, "PATCH");
    const bobs = await run(bob, id);
    const path = `/assistants/${id}?delete_threads=true`;
    expect((await bob.fetch(path, undefined, "DELETE")).status).toBe(204);
    expect([await status(ada, adas), await status(bob, bobs)]).toEqual([200, 404]);
  });

  it("leaves threads that a handler refuses to delete, also when they are pruned", async () => {
    const fay = userCalled("fay");
    const { assistant_id } = await fay.json("/assistants", { graph_id: "whoami" });
    const thread = await run(fay, String(assistant_id));
    expect(await fay.json("/threads/prune", { thread_ids: [thread] })).toEqual({ pruned_count: 0 });
    await fay.fetch(`/assistants/${String(assistant_id)}?delete_threads=true`, undefined, "DELETE");
    expect(await status(fay, thread)).toBe(200);
  });
});
