/** Deleting all threads of a workspace. */
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { deleteThreads } from "../../src/threads/clear.ts";
import { newCaller } from "../support/caller.ts";
import { newThread } from "./client.ts";

it("finds the threads behind index rows that have none", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  // 150 rows that sort before it.
  const copy = env.DB.prepare(
    `WITH RECURSIVE n (i) AS (SELECT 1 UNION SELECT i + 1 FROM n WHERE i < 150)
     INSERT INTO threads SELECT workspace_id, printf('00000000-0000-4000-8000-%012d', i), status, metadata, config,
       "values", has_values, interrupts, error, created_at, updated_at, state_updated_at, revision
     FROM threads, n WHERE workspace_id = ?`,
  );
  expect((await copy.bind(caller.workspaceId).run()).meta.changes).toBe(150);
  await deleteThreads(env, caller.workspaceId);
  expect((await caller.fetch(`/threads/${thread}`)).status).toBe(404);
});
