/** A payload that is written again while it is deleted in R2: it stays, or its write is refused and sent again. */
import { env, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { beforeEach, expect, it, vi } from "vitest";
import type { TracePartition } from "../../../src/traces/partition/object.ts";
import { tracePartition } from "../../../src/traces/stub.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { ask } from "../../support/examples.ts";
import { DAY, NOON, projectId, runParts, sendMultipart, sentRun } from "../../support/traces.ts";

const BIG = "x".repeat(300_000);
let caller: Caller;
beforeEach(async () => {
  caller = await newCaller();
});

/** A run whose payload is due to be deleted with it, and a write of another run with the same payload. */
async function dropFirst() {
  const first = sentRun(NOON, { inputs: { big: BIG } });
  expect((await sendMultipart(caller, runParts("post", first))).status).toBe(202);
  const project = await projectId(caller);
  const prefix = `traces/${caller.workspaceId}/${project}/`;
  const keys = async () => (await env.BLOBS.list({ prefix })).objects.map((object) => object.key);
  const [key = ""] = await keys();
  const data = await (await env.BLOBS.get(key))?.arrayBuffer();
  const place = { projectId: project, day: DAY, shard: 0 };
  const object = env.TRACE_PARTITION.getByName(`${caller.workspaceId}/${project}/${DAY}`);
  await ask(caller, "/runs/delete", { body: { session_id: project, trace_ids: [first.id] } });
  await runInDurableObject(object, (_, { storage }) => void storage.sql.exec("UPDATE doomed SET due = 0"));
  const again = sentRun(NOON + 1, {});
  const inputs = { hash: key.split("/").at(-1) ?? "", bytes: 300_000, preview: "x" };
  const { id, trace_id } = again;
  const write = { kind: "post" as const, id, trace_id, start_time: NOON + 1, inputs };
  const identity = { workspaceId: caller.workspaceId, ...place, traceTier: "longlived" as const };
  const stub = tracePartition(env, caller.workspaceId, place);
  return { object, key, data, keys, upsert: async (batched = false) => stub.upsert(identity, [write], { batched }) };
}

it("a write is refused whose payload was deleted since it was stored, and the payload stays when it is sent again", async () => {
  const { object, key, data, keys, upsert } = await dropFirst();
  expect(await runDurableObjectAlarm(object)).toBe(true);
  expect(await keys()).toEqual([]);
  await expect(upsert()).rejects.toThrow(/^Problem:503:/);
  await env.BLOBS.put(key, data ?? "");
  expect(await upsert()).toMatchObject({ left: [] });
  await runDurableObjectAlarm(object);
  await runInDurableObject(object, (_, { storage }) => void storage.sql.exec("UPDATE doomed SET due = 0"));
  await runDurableObjectAlarm(object);
  expect(await keys()).toEqual([key]);
});

it("a write that comes while its payload is deleted waits for the end of the deletion, and is refused", async () => {
  const { object, keys, upsert } = await dropFirst();
  const gate = { reached: false, open: false };
  await runInDurableObject(object, (partition: TracePartition) => {
    const own = partition as unknown as { env: Env };
    const { BLOBS } = own.env;
    own.env = {
      ...own.env,
      BLOBS: {
        head: (one: string) => BLOBS.head(one),
        delete: async (all: string[]) => {
          gate.reached = true;
          while (!gate.open) await new Promise((resolve) => setTimeout(resolve, 5));
          return BLOBS.delete(all);
        },
      } as unknown as R2Bucket,
    };
  });
  const alarm = runDurableObjectAlarm(object);
  await vi.waitFor(() => expect(gate.reached).toBe(true), 5_000);
  const written = upsert().then(
    () => "written",
    (error: unknown) => String(error),
  );
  await scheduler.wait(20);
  gate.open = true;
  await alarm;
  expect(await written).toContain("Problem:503:");
  expect(await keys()).toEqual([]);
});

it("a payload stays that a write under way refers to", async () => {
  const { object, key, keys, upsert } = await dropFirst();
  const [written] = await Promise.all([upsert(true), runDurableObjectAlarm(object)]).catch(() => []);
  const isThere = (await keys()).includes(key);
  // Whichever came first: what is stored is readable.
  expect(isThere).toBe(written !== undefined);
});
