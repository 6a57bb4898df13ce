/** Messages to and from a partition stay below the platform's 32 MiB, for any rows. */
import { env, runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { groupWrites } from "../../../src/traces/partition/write/write.ts";
import { tracePartition } from "../../../src/traces/stub.ts";
import type { RunPosition, RunWrite } from "../../../src/traces/types.ts";
import { dayBounds } from "../../../src/traces/time.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { DAY, NOON, projectId, runParts, sendMultipart, sentRun, uuid7 } from "../../support/traces.ts";

const KIB = 1024;
/** A text of this many bytes that a message holds in UTF-16, for one of its characters is no Latin-1. */
const twoByte = (bytes: number) => `文${"x".repeat(bytes - 3)}`;

async function send(caller: Caller, runs: Record<string, unknown>[], atOnce = 50): Promise<void> {
  for (let i = 0; i < runs.length; i += atOnce) {
    const parts = runs.slice(i, i + atOnce).flatMap((run) => runParts("post", run));
    const response = await sendMultipart(caller, parts);
    expect(await response.json()).toMatchObject({ rejected: 0 });
  }
}

it("threads with large turns are listed", async () => {
  const caller = await newCaller();
  const text = twoByte(230 * KIB);
  const turns = Array.from({ length: 60 }, (_, i) =>
    sentRun(NOON + i, {
      end_time: NOON / 1000 + 5,
      inputs: { question: text },
      outputs: { answer: text },
      error: text,
      extra: { metadata: { thread_id: `thread ${i}` } },
    }),
  );
  await send(caller, turns);
  const response = await caller.fetch("/runs/group", {
    body: { session_id: await projectId(caller), group_by: "conversation" },
  });
  const { groups, total } = await response.json<{
    total: number;
    groups: { first_inputs: string; last_error: string }[];
  }>();
  expect([response.status, total]).toEqual([200, 60]);
  expect(groups[0]).toMatchObject({
    first_inputs: text.slice(0, 300),
    last_error: text.slice(0, 1_000),
  });
});

it("runs with many long tags cross in one request", async () => {
  const caller = await newCaller();
  const tags = Array.from({ length: 200 }, (_, i) => twoByte(480) + String(i));
  const runs = Array.from({ length: 300 }, (_, i) => sentRun(NOON + i, { tags }));
  await send(caller, runs, 300);
  const query = { session: [await projectId(caller)], select: ["tags"], limit: 100 };
  const found = await (await caller.fetch("/runs/query", { body: query })).json<{ runs: { tags: string[] }[] }>();
  expect(found.runs.length).toBeGreaterThan(50);
  expect(found.runs[0]?.tags).toEqual(tags);
});

it("feedback that is large is listed and exported in pages", async () => {
  const caller = await newCaller();
  const runs = Array.from({ length: 4 }, (_, i) => sentRun(NOON + i));
  await send(caller, runs);
  const correction = { text: twoByte(240 * KIB) };
  for (let i = 0; i < 80; i++) {
    const body = {
      run_id: runs[i % 4]!.id,
      session_id: await projectId(caller),
      key: `k${i % 4}`,
      score: i,
      correction,
    };
    expect((await caller.fetch("/feedback", { body })).status).toBe(200);
  }
  const listed = await caller.fetch(`/feedback?limit=100&session=${await projectId(caller)}`);
  expect(await listed.json<unknown[]>()).toHaveLength(80);

  const place = { projectId: await projectId(caller), day: DAY, shard: 0 };
  const partition = tracePartition(env, caller.workspaceId, place);
  const { start: startTime, end: endTime } = dayBounds(DAY);
  const counts: number[] = [];
  for (let after: RunPosition | null = null, done = false; !done;) {
    const request = {
      after,
      startTime,
      endTime,
      limit: 1_000,
      maxBytes: 4 * KIB * KIB,
      fields: ["feedbacks" as const],
    };
    const page = await partition.readPage(request);
    const feedbacks = JSON.parse(page?.light.feedbacks ?? "[]") as string[];
    for (const text of feedbacks) counts.push((JSON.parse(text) as unknown[]).length);
    expect(page!.rows).toBeLessThan(3);
    ({ next: after, done } = page!);
  }
  // What one run can show of its feedback ends at 4 MiB.
  expect(counts).toEqual([17, 17, 17, 17]);
});

it("patches to large runs are applied a few rows at a time", async () => {
  const caller = await newCaller();
  const payload = { text: "x".repeat(250 * KIB) };
  const runs = Array.from({ length: 40 }, (_, i) =>
    sentRun(NOON + i, { inputs: payload, outputs: payload, serialized: payload, error: payload.text }),
  );
  await send(caller, runs, 20);
  const place = { projectId: await projectId(caller), day: DAY, shard: 0 };
  const stub = tracePartition(env, caller.workspaceId, place);
  const writes = [
    ...runs.map(({ id }): RunWrite => ({ kind: "patch", id, name: "patched" })),
    { kind: "post" as const, id: uuid7(NOON) },
  ];
  const object = env.TRACE_PARTITION.getByName(`${caller.workspaceId}/${await projectId(caller)}/${DAY}`);
  const groups = await runInDurableObject(object, (_, { storage }) =>
    [...groupWrites(storage.sql, writes)].map((group) => group.length),
  );
  expect(groups).toEqual([16, 16, 9]);
  await stub.upsert({ workspaceId: caller.workspaceId, ...place, traceTier: "longlived" }, writes);
  const { runs: found } = await stub.query({ order: "asc", after: null, limit: 100, maxBytes: 1e9, payloads: [] });
  expect(found.filter(({ name }) => name === "patched")).toHaveLength(40);
});
