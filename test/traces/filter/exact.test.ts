/** Filters compare the values that were sent: every digit, every character, with any escapes. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, expect, it } from "vitest";
import { type Caller, newCaller } from "../../support/caller.ts";
import { DAY, NOON, projectId, runParts, sendMultipart, type Sent, sentRun } from "../../support/traces.ts";

let caller: Caller;
let session: string;

async function storeRuns(runs: Sent[]): Promise<void> {
  const parts = runs.flatMap((run) => runParts("post", run));
  expect((await sendMultipart(caller, parts)).status).toBe(202);
}

async function findRuns(filter: string): Promise<string[]> {
  const answer = await caller.fetch("/runs/query", { body: { session: [session], filter, select: ["id"] } });
  expect([filter, answer.status]).toEqual([filter, 200]);
  return (await answer.json<{ runs: { id: string }[] }>()).runs.map(({ id }) => id).sort();
}

const q = (text: string) => JSON.stringify(text);
const entry = (kind: string, key: string, value: string) =>
  `and(eq(${kind}_key, ${q(key)}), eq(${kind}_value, ${q(value)}))`;

beforeAll(async () => {
  caller = await newCaller();
  await storeRuns([sentRun(NOON - 1)]);
  session = await projectId(caller);
});

it("numbers of metadata are compared as JSON writes them", async () => {
  const numbers = [
    0.1 + 0.2,
    1 / 3,
    1e21,
    1e-7,
    5e-324,
    1.5e300,
    100,
    -0.5,
    ...Array.from({ length: 30 }, (_, n) => Math.sin(n + 1)),
  ];
  const keys = ['a"b', "a\\b", "a.b", "$", "[0]", "", "ключ", "a\u0000b"];
  const metadata = Object.fromEntries([
    ...numbers.map((number, n) => [`f${n}`, number] as const),
    ...keys.map((key) => [key, 1 / 3] as const),
  ]);
  const run = sentRun(NOON, { extra: { metadata } });
  await storeRuns([run]);
  for (const [key, number] of Object.entries(metadata)) {
    expect([key, number, await findRuns(entry("metadata", key, String(number)))]).toEqual([key, number, [run.id]]);
  }
});

it("metadata contains integers by all of their digits", async () => {
  const integers = ["9007199254740993", "-9007199254740993", "9223372036854775807", "100"];
  const runs = integers.map((_, n) => sentRun(NOON + 50 + n));
  const parts = runs.flatMap((run, n) => [
    ...runParts("post", run),
    {
      name: `post.${run.id}.extra`,
      data: `{"metadata":{"exact":${integers[n]},"deep":{"a.b":${integers[n]}},"list":[${integers[n]}]}}`,
    },
  ]);
  expect((await sendMultipart(caller, parts)).status).toBe(202);
  for (const [n, run] of runs.entries()) {
    expect(await findRuns(`has(metadata, ${q(`{"exact": ${integers[n]}}`)})`)).toEqual([run.id]);
    expect(await findRuns(`has(metadata, ${q(`{"deep": {"a.b": ${integers[n]}}}`)})`)).toEqual([run.id]);
    expect(await findRuns(`has(metadata, ${q(`{"list": [${integers[n]}]}`)})`)).toEqual([run.id]);
  }
  expect(await findRuns(`has(metadata, ${q('{"exact": 9007199254740992}')})`)).toEqual([]);
  expect(
    (await caller.fetch("/runs/query", { body: { session: [session], filter: 'has(metadata, "9007199254740993")' } }))
      .status,
  ).toBe(400);
});

it("long values are compared by the same 250 characters that are kept", async () => {
  const long = "😀".repeat(300);
  const odd = `x${long}`;
  const run = sentRun(NOON + 1, { inputs: { long, odd }, outputs: { long, odd }, extra: { metadata: { long, odd } } });
  await storeRuns([run]);
  await caller.fetch("/feedback", { body: { run_id: run.id, key: "long", value: long } });
  for (const kind of ["input", "output", "metadata"]) {
    for (const [key, value] of Object.entries({ long, odd })) {
      expect([kind, key, await findRuns(entry(kind, key, value))]).toEqual([kind, key, [run.id]]);
    }
  }
  expect(await findRuns(entry("feedback", "long", long))).toEqual([run.id]);
});

it("U+0000 ends no comparison", async () => {
  const [short, whole, other] = ["a", "a\u0000b", "a\u0000c"].map((text, n) =>
    sentRun(NOON + 10 + n, { name: `nul ${text}`, inputs: { v: text }, extra: { metadata: { v: text } } }),
  ) as [Sent, Sent, Sent];
  await storeRuns([short, whole, other]);
  for (const run of [short, whole, other]) {
    const { v } = run["inputs"] as { v: string };
    await caller.fetch("/feedback", { body: { run_id: run.id, key: "v", value: v } });
    expect([v, await findRuns(`eq(name, ${q(run.name)})`)]).toEqual([v, [run.id]]);
    for (const kind of ["input", "metadata", "feedback"]) {
      expect([kind, v, await findRuns(entry(kind, "v", v))]).toEqual([kind, v, [run.id]]);
    }
  }
  expect(await findRuns('like(name, "%c")')).toEqual([other.id]);
  expect(await findRuns(`like(name, ${q("nul a\u0000b%")})`)).toEqual([whole.id]);
  const body = { session: [session], by: "name", filter: 'like(name, "nul %")' };
  const window = { start_time: `${DAY}T00:00:00Z`, end_time: `${DAY}T23:59:00Z` };
  const series = await caller.fetch("/runs/stats/series", { body: { ...body, ...window } });
  expect((await series.json<{ groups: unknown[] }>()).groups).toHaveLength(3);
});

it("text is found in inputs with any escapes of its sender", async () => {
  const run = sentRun(NOON + 20);
  const { runs, ...head } = { runs: runParts("post", run), name: `post.${run.id}.inputs` };
  const data = String.raw`{"q":"see http:\/\/a.example\/b and \u0022this\u0022 \u005C \u000a \ud83d\ude00 \u001F"}`;
  await sendMultipart(caller, [...runs, { ...head, data }]);
  for (const text of ["http://a.example/b", 'and "this" \\', "\n 😀", "\u001f"]) {
    expect([text, await findRuns(`search(inputs, ${q(text)})`)]).toEqual([text, [run.id]]);
  }
  const { inputs } = await (await caller.fetch(`/runs/${run.id}`)).json<{ inputs: unknown }>();
  expect(inputs).toEqual(JSON.parse(data));
});

it("runs whose names agree in 200 characters are one group, in sealed blocks too", async () => {
  const own = await newCaller();
  const long = "😀".repeat(199);
  const runs = Array.from({ length: 600 }, (_, n) =>
    sentRun(NOON + n, { name: `n${long}${n % 2}`, end_time: (NOON + n + 1_000) / 1000 }),
  );
  for (let at = 0; at < runs.length; at += 100) {
    await sendMultipart(
      own,
      runs.slice(at, at + 100).flatMap((run) => runParts("post", run)),
    );
  }
  const body = {
    by: "name",
    interval: "hour",
    start_time: `${DAY}T00:00:00Z`,
    end_time: `${DAY}T23:00:00Z`,
  };
  const groups = async () => {
    const answer = await own.fetch("/runs/stats/series", { body });
    const series = await answer.json<{ groups: { key: string; run_count: number }[] }>();
    return series.groups.map(({ key, run_count }) => [key, run_count]);
  };
  expect(await groups()).toEqual([[`n${long}`, 600]]);
  const partition = env.TRACE_PARTITION.getByName(`${own.workspaceId}/${await projectId(own)}/${DAY}`);
  await runInDurableObject(partition, async (instance, { storage }) => {
    await (instance as unknown as { alarm(): Promise<void> }).alarm();
    expect(storage.sql.exec("SELECT block FROM blocks WHERE has_sums = 1").toArray()).toHaveLength(1);
  });
  expect(await groups()).toEqual([[`n${long}`, 600]]);
});
