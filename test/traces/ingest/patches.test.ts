/** Patches that name no project, or one that does not exist: they belong to their runs, and make none elsewhere. */
import { env, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { beforeEach, expect, it } from "vitest";
import { hashIds } from "../../../src/traces/lookup/entries.ts";
import { traceIndex } from "../../../src/traces/lookup/rpc.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { makeKey } from "../../support/encryption.ts";
import { ask } from "../../support/examples.ts";
import { DAY, NOON, projectId, runParts, type Sent, sendMultipart, sentRun } from "../../support/traces.ts";

let caller: Caller;
beforeEach(async () => {
  caller = await newCaller();
});

const END = "2026-11-20T17:49:55Z";
const projects = async () => (await ask<{ name: string }[]>(caller, "/sessions")).map(({ name }) => name).sort();
const statusOf = async ({ id }: { id: string }) => (await caller.fetch(`/runs/${id}`)).status;
const patchOf = ({ id, trace_id, dotted_order }: Sent, more: object = {}) =>
  runParts("patch", { id, trace_id, dotted_order, end_time: END, ...more });
const send = async (parts: Parameters<typeof sendMultipart>[1]) => {
  const response = await sendMultipart(caller, parts);
  expect(response.status).toBe(202);
  return response.json<{ taken: number; rejected: number; errors: { id: string; message: string }[] }>();
};
const waitingKeys = async () =>
  (await env.BLOBS.list({ prefix: `waiting/${caller.workspaceId}/` })).objects.map(({ key }) => key);
const metric = async (name: string) => {
  const text = await (await caller.fetch("/metrics")).text();
  return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1]);
};

it.each(["post first", "patch first"])("a post and its patch in one batch are one run (%s)", async (order) => {
  const run = sentRun(NOON, { session_name: "mine" });
  const [post, patch] = [runParts("post", run), patchOf(run, { outputs: { a: 1 } })];
  const answer = await send(order === "post first" ? [...post, ...patch] : [...patch, ...post]);
  expect(answer).toMatchObject({ taken: 2, rejected: 0, errors: [] });
  expect(await projects()).toEqual(["mine"]);
  expect(await ask(caller, `/runs/${run.id}`)).toMatchObject({ status: "success", outputs: { a: 1 } });
});

it("a patch that comes before its post waits for it, with all that it holds", async () => {
  const run = sentRun(NOON, { session_name: "mine", inputs: { q: 1 } });
  const big = "x".repeat(300_000);
  const answer = await send([
    ...patchOf(run, { outputs: { big } }),
    { name: `attachment.${run.id}.picture`, type: "image/png", data: new Uint8Array([0x89, 0xff, 0]) },
  ]);
  expect(answer).toMatchObject({
    taken: 0,
    rejected: 0,
    errors: [{ id: run.id, message: expect.stringContaining("waits an hour") }],
  });
  expect([await projects(), await statusOf(run), await metric("weir_trace_patches_waiting")]).toEqual([[], 404, 1]);
  expect(await send(runParts("post", run))).toMatchObject({ taken: 1, rejected: 0, errors: [] });
  const read = await ask<{ outputs: object; inputs: object; status: string }>(caller, `/runs/${run.id}`);
  expect(read).toMatchObject({ status: "success", inputs: { q: 1 }, outputs: { big } });
  expect(await projects()).toEqual(["mine"]);
  expect([await waitingKeys(), await metric("weir_trace_patches_waiting")]).toEqual([[], 0]);
});

it("patches of a child wait, and are stored when its trace is", async () => {
  const root = sentRun(NOON, { session_name: "mine" });
  const child = sentRun(NOON + 1000, { session_name: "mine" }, root);
  await send(patchOf(child, { outputs: { a: 1 } }));
  await send(runParts("post", root));
  expect(await ask(caller, `/runs/${child.id}`)).toMatchObject({ trace_id: root.id, status: "success" });
  expect(await send(runParts("post", child))).toMatchObject({ taken: 1 });
  expect(await ask(caller, `/runs/${child.id}`)).toMatchObject({ name: "step", outputs: { a: 1 } });
  expect(await projects()).toEqual(["mine"]);
});

it("a patch whose post does not come is dropped, and counted", async () => {
  const run = sentRun(NOON);
  await send(patchOf(run, { outputs: { secret: 1 } }));
  expect(await waitingKeys()).toHaveLength(1);
  const index = env.TRACE_INDEX.getByName(caller.workspaceId);
  await runInDurableObject(index, (_, { storage }) => void storage.sql.exec("UPDATE waiting SET due = 0"));
  expect(await runDurableObjectAlarm(index)).toBe(true);
  expect([
    await waitingKeys(),
    await metric("weir_trace_patches_waiting"),
    await metric("weir_trace_patches_dropped_total"),
  ]).toEqual([[], 0, 1]);
  await send(runParts("post", run));
  expect(await ask(caller, `/runs/${run.id}`)).toMatchObject({ status: "pending", outputs: null });
});

it("a patch does not make the project that it names", async () => {
  const run = sentRun(NOON, { session_name: "not there" });
  await send(runParts("patch", { ...run, end_time: END }));
  expect(await projects()).toEqual([]);
  await send(runParts("post", run));
  expect([await projects(), (await ask<{ status: string }>(caller, `/runs/${run.id}`)).status]).toEqual([
    ["not there"],
    "success",
  ]);
});

it("what a workspace encrypts waits encrypted", async () => {
  await makeKey(caller);
  const run = sentRun(NOON, { session_name: "mine" });
  await send(patchOf(run, { outputs: { secret: "plain words" } }));
  const [key = ""] = await waitingKeys();
  expect(await (await env.BLOBS.get(key))?.text()).not.toContain("plain words");
  await send(runParts("post", run));
  expect(await ask(caller, `/runs/${run.id}`)).toMatchObject({ outputs: { secret: "plain words" } });
});

it("what comes late of a deleted trace is dropped, also without its project", async () => {
  const [root, other] = [sentRun(NOON), sentRun(NOON + 1_000_000)];
  const child = sentRun(NOON + 1000, {}, root);
  await send([root, other, child].flatMap((run) => runParts("post", run)));
  await ask(caller, "/runs/delete", { body: { session_id: await projectId(caller), trace_ids: [root.id] } });
  const late = sentRun(NOON + 2000, { session_name: undefined, inputs: { secret: 1 } }, root);
  await send([...patchOf(root), ...patchOf(child), ...runParts("post", late)]);
  expect([await statusOf(root), await statusOf(child), await statusOf(late)]).toEqual([404, 404, 404]);
  expect([await projects(), await waitingKeys()]).toEqual([["tests"], []]);
});

it("what comes late of a deleted project is dropped, with and without its name; a root may begin again", async () => {
  const root = sentRun(NOON);
  const child = sentRun(NOON + 1000, {}, root);
  await send([root, child].flatMap((run) => runParts("post", run)));
  await ask(caller, `/sessions/${await projectId(caller)}`, { method: "DELETE" });
  const late = sentRun(NOON + 2000, { session_name: undefined, inputs: { secret: 1 } }, root);
  const named = sentRun(NOON + 3000, { session_name: "again" }, root);
  const answer = await send([...patchOf(child), ...runParts("post", late), ...runParts("post", named)]);
  expect(answer.errors.map(({ message }) => message)).toEqual(Array(3).fill("its project was deleted; it was dropped"));
  expect([await statusOf(child), await statusOf(late), await statusOf(named)]).toEqual([404, 404, 404]);
  expect(await metric("weir_trace_patches_dropped_total")).toBe(3);
  await send([...runParts("post", { ...root, session_name: "again" }), ...runParts("post", { ...named })]);
  expect([await statusOf(root), await statusOf(named)]).toEqual([200, 200]);
});

it("a patch of a run that is known alone, by its id, is stored on the day of the run", async () => {
  const run = { ...sentRun(NOON), id: crypto.randomUUID() };
  const { dotted_order: _, ...bare } = { ...run, trace_id: run.id };
  await send(runParts("post", bare));
  const response = await caller.fetch(`/runs/${run.id}`, {
    method: "PATCH",
    body: { outputs: { a: 1 }, end_time: END },
  });
  expect(response.status).toBe(202);
  expect(await ask(caller, `/runs/${run.id}`)).toMatchObject({ status: "success", outputs: { a: 1 } });
});

it("a patch waits also while its post is registered and not stored yet", async () => {
  const run = sentRun(NOON);
  await ask(caller, "/sessions", { body: { name: "tests" } });
  const day = { projectId: await projectId(caller), day: DAY };
  await traceIndex(env, caller.workspaceId).register([{ ...day, hashes: hashIds([run.id]), begun: [] }]);
  expect(await send(patchOf(run, { outputs: { a: 1 } }))).toMatchObject({ errors: [{ id: run.id }] });
  await send(runParts("post", run));
  expect(await ask(caller, `/runs/${run.id}`)).toMatchObject({ status: "success", outputs: { a: 1 } });
  expect(await waitingKeys()).toEqual([]);
});

it("all patches that wait for the posts of one request are stored with it", async () => {
  const runs = Array.from({ length: 150 }, (_, i) => sentRun(NOON + i * 1000, { session_name: "mine" }));
  await send(runs.flatMap((run) => patchOf(run)));
  expect(await waitingKeys()).toHaveLength(150);
  await send(runs.flatMap((run) => runParts("post", run)));
  expect(await waitingKeys()).toEqual([]);
});

it("of two patches that wait, the later one counts", async () => {
  const runs = Array.from({ length: 10 }, (_, i) => sentRun(NOON + i * 1000, { session_name: "mine" }));
  for (const n of [1, 2]) await send(runs.flatMap((run) => patchOf(run, { outputs: { n } })));
  await send(runs.flatMap((run) => runParts("post", run)));
  const read = await Promise.all(runs.map(async ({ id }) => ask<{ outputs: { n: number } }>(caller, `/runs/${id}`)));
  expect(read.map(({ outputs }) => outputs.n)).toEqual(runs.map(() => 2));
});

it("what is late of a deleted project is dropped each time", async () => {
  const root = sentRun(NOON);
  const child = sentRun(NOON + 1000, {}, root);
  await send([root, child].flatMap((run) => runParts("post", run)));
  await ask(caller, `/sessions/${await projectId(caller)}`, { method: "DELETE" });
  const late = sentRun(NOON + 3000, { session_name: "again" }, root);
  for (const parts of [runParts("post", late), runParts("post", late), patchOf(child, { session_name: "again" })])
    expect(await send(parts)).toMatchObject({ errors: [{ message: "its project was deleted; it was dropped" }] });
  expect([await statusOf(late), await statusOf(child)]).toEqual([404, 404]);
});

it("past the 100 projects of a request, runs of the first 100 are still taken", async () => {
  const runs = Array.from({ length: 101 }, (_, i) => sentRun(NOON + i * 1000, { session_name: `p${i}` }));
  const more = Array.from({ length: 5 }, (_, i) => sentRun(NOON + 200_000 + i * 1000, { session_name: "p0" }));
  expect(await send([...runs, ...more].flatMap((run) => runParts("post", run)))).toMatchObject({
    taken: 105,
    rejected: 1,
  });
});
