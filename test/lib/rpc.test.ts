/** An expected error of an object is an answer of its call, not an exception of the object. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { dispatchRpc, type RpcTarget, rpcProxy } from "../../src/lib/rpc.ts";
import { remoteProblem, toProblem } from "../../src/lib/problem.ts";
import { indexShard, type IndexRow } from "../../src/threads/search/rpc.ts";
import { threadStub } from "../../src/threads/remote.ts";
import { newCaller } from "../support/caller.ts";
import { newThread } from "../threads/client.ts";

const callStub = async (stub: RpcTarget, method: string, args: unknown[]) => stub.dispatch(method, args);
const refusal = (status: number) => ({ $problem: { status, detail: expect.any(String) } });

it("gives the 404 and the 409 of a thread as values, and throws them at the caller's side", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  const raw = env.THREAD.getByName(`${caller.workspaceId}:${thread}`);
  const calls = threadStub(env, caller.workspaceId, thread);
  const run = crypto.randomUUID();
  const create = { metadata: {}, ifExists: "raise" as const };
  expect(await callStub(raw, "streamRun", [run, {}])).toEqual(refusal(404));
  expect(await callStub(raw, "create", [create])).toEqual(refusal(409));
  const gone = await calls.streamRun(run, {}).catch(toProblem);
  expect(gone).toMatchObject({ status: 404, detail: "Run not found." });
  expect(await calls.create(create).catch(toProblem)).toMatchObject({ status: 409 });
  expect(await calls.get()).toMatchObject({ thread_id: thread });

  const response = await caller.fetch(`/threads/${thread}/runs/${run}/stream`);
  expect(response.status).toBe(404);
  expect(await response.json()).toMatchObject({ detail: "Run not found." });
});

it("throws within the object, where its sockets call it", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  await runInDurableObject(env.THREAD.getByName(`${caller.workspaceId}:${thread}`), async (object) => {
    await expect(object.cancel(crypto.randomUUID(), "interrupt", false)).rejects.toThrow("Problem:404:");
  });
});

it("does the same for the index of threads", async () => {
  const { workspaceId } = await newCaller();
  const row: IndexRow = {
    id: crypto.randomUUID(),
    status: "idle",
    metadata: {},
    config: {},
    values: null,
    hasValues: false,
    open: false,
    interrupts: {},
    error: null,
    createdAt: 1,
    updatedAt: 1,
    stateUpdatedAt: 1,
    revision: 2,
  };
  const index = indexShard(env, workspaceId, 0);
  await index.put(row);
  const older = { ...row, revision: 1 };
  expect(await callStub(env.THREAD_INDEX.getByName(`${workspaceId}:0`), "put", [older])).toEqual(refusal(409));
  expect(await index.put(older).catch(toProblem)).toMatchObject({ status: 409 });
});

it("keeps every other error an exception", async () => {
  const detail = "What is\nwrong: this.";
  const object = {
    refuses: async () => Promise.reject(remoteProblem(422, detail)),
    isNewer: async () => Promise.reject(remoteProblem(503, "newer")),
    fails: async () => Promise.reject(new TypeError("kaboom")),
    adds: async (a: number, b: number) => a + b,
  };
  const calls = rpcProxy<typeof object>({ dispatch: async (method, args) => dispatchRpc(object, method, args) });
  expect(await calls.refuses().catch(toProblem)).toMatchObject({ status: 422, detail });
  await expect(dispatchRpc(object, "isNewer", [])).rejects.toThrow("Problem:503:newer");
  await expect(calls.fails()).rejects.toThrow("kaboom");
  expect(await calls.adds(1, 2)).toBe(3);
});
