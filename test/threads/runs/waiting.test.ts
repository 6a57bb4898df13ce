/** A run that waits to begin was accepted: its thread is not deleted by itself. */
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { threadsFor } from "../../../src/automation/crons/fire.ts";
import { threadObject } from "../../../src/threads/remote.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { newThread, say } from "../client.ts";
import { expire } from "./expire.ts";

type Remove = (caller: Caller, thread: string) => Promise<unknown>;

const expired =
  (change: object): Remove =>
  ({ workspaceId }, thread) =>
    expire(() => threadObject(env, workspaceId, thread), change);

it.each<[by: string, remove: Remove]>([
  ["the end of a stateless run", expired({ temporary: { until: 1 } })],
  ["a cron", async ({ workspaceId }, thread) => expect(await threadsFor(env).remove(workspaceId, thread)).toBe(false)],
])("a run that waits to begin keeps its thread from being deleted by %s", async (_, remove) => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  const body = { assistant_id: "echo", input: say("later"), after_seconds: 3_600 };
  await caller.fetch(`/threads/${thread}/runs`, { body });
  await remove(caller, thread);
  const runs = await (await caller.fetch(`/threads/${thread}/runs`)).json();
  expect(runs).toMatchObject([{ status: "pending" }]);
});
