import assert from "node:assert/strict";
import type { Check, Smoke } from "../suite.ts";

/** Creates a thread that the cleanup deletes. */
export async function newThread(smoke: Smoke): Promise<string> {
  const { thread_id } = await smoke.client.threads.create({ metadata: { smoke: smoke.project } });
  smoke.undoLater(`thread ${thread_id}`, () => smoke.client.threads.delete(thread_id));
  return thread_id;
}

export const threads: Check[] = [
  {
    name: "threads: create, change, search, copy, delete",
    async run(smoke) {
      const { threads } = smoke.client;
      const id = await newThread(smoke);
      await threads.update(id, { metadata: { part: "threads" } });
      const found = await threads.search({ metadata: { smoke: smoke.project, part: "threads" } });
      assert.deepEqual(
        found.map(({ thread_id }) => thread_id),
        [id],
      );
      const { thread_id: copy } = await threads.copy(id);
      assert.equal((await threads.get(copy)).metadata?.part, "threads");
      await threads.delete(copy);
      await assert.rejects(threads.get(copy), /404/);
    },
  },
  {
    name: "threads: an unknown one is a 404",
    async run({ client }) {
      await assert.rejects(client.threads.get(crypto.randomUUID()), /404/);
    },
  },
];
