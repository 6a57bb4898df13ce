/** Statistics over many runs and many days. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { projectStats } from "../../../src/traces/query/stats.ts";
import { DurationCounter } from "../../../src/traces/partition/stats/durations.ts";
import { tracePartition } from "../../../src/traces/stub.ts";
import { toDay } from "../../../src/traces/time.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { NOON, projectId, runParts, sendMultipart, sentRun, uuid7 } from "../../support/traces.ts";
import { itThorough } from "../../support/thorough-test.ts";

const DAY_MICROS = 86_400_000_000;

/** Runs of one length on the day of `start`, written to their partition directly. */
async function addRuns(caller: Caller, session: string, start: number, count: number, seconds: number): Promise<void> {
  const { workspaceId } = caller;
  const place = { projectId: session, day: toDay(start), shard: 0 };
  const partition = tracePartition(env, workspaceId, place);
  for (let from = 0; from < count; from += 500) {
    const writes = Array.from({ length: Math.min(500, count - from) }, (_, n) => ({
      kind: "post" as const,
      id: uuid7(start + from + n),
      name: "step",
      start_time: start + from + n,
      end_time: start + from + n + seconds * 1_000_000,
      first_token_time: start + from + n + seconds * 500_000,
    }));
    await partition.upsert({ workspaceId, ...place, traceTier: "longlived" }, writes, { batched: true, shards: 1 });
  }
}

describe("percentiles", () => {
  it("over several days weigh each day by its runs", { timeout: 60_000 }, async () => {
    const caller = await newCaller();
    await sendMultipart(caller, runParts("post", sentRun(NOON)));
    const session = await projectId(caller);
    await addRuns(caller, session, NOON - DAY_MICROS, 3_000, 1);
    await addRuns(caller, session, NOON - 2 * DAY_MICROS, 2_001, 10);
    const answer = await caller.fetch("/runs/stats", { body: { session: [session] } });
    const stats = await answer.json<Record<string, number>>();
    expect(stats).toMatchObject({ run_count: 5_002, complete: true });
    const expected = { latency_p50: 1, latency_p99: 10, first_token_p50: 0.5, first_token_p99: 5 };
    for (const [name, seconds] of Object.entries(expected)) {
      expect([name, Math.abs(Math.log((stats[name] ?? 0) / seconds)) < 0.0251]).toEqual([name, true]);
    }
  });

  it("are exact for few durations and within 2.5 % for many, however these are added up", () => {
    const values = Array.from({ length: 9_000 }, (_, n) => Math.round(1.002 ** n));
    const whole = new DurationCounter();
    for (const part of [values.slice(0, 100), values.slice(100, 5_000), values.slice(5_000)]) {
      const own = new DurationCounter();
      for (const micros of part) own.add(micros);
      whole.addAll(own.counts());
    }
    for (const share of [0.01, 0.5, 0.9, 0.99, 1]) {
      const seconds = (values[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0) / 1e6;
      expect(Math.abs(Math.log((whole.secondsAt(share) ?? 0) / seconds))).toBeLessThan(0.0251);
    }
    const few = new DurationCounter();
    for (const micros of [3_000_001, 1_000_001, 2_000_001]) few.add(micros);
    expect([few.secondsAt(0.5), few.secondsAt(0.99), new DurationCounter().secondsAt(0.5)]).toEqual([
      2.000001,
      3.000001,
      null,
    ]);
  });

  it("of a thread are of all its turns", async () => {
    const caller = await newCaller();
    const turn = (n: number, seconds: number) =>
      sentRun(NOON + n, { extra: { metadata: { thread_id: "t" } }, end_time: (NOON + n) / 1000 + seconds * 1000 });
    // The newest turns take longer than most.
    const turns = Array.from({ length: 520 }, (_, n) => turn(n, n < 300 ? 1 : 10));
    for (let at = 0; at < turns.length; at += 65) {
      await sendMultipart(
        caller,
        turns.slice(at, at + 65).flatMap((run) => runParts("post", run)),
      );
    }
    const answer = await caller.fetch("/runs/group", { body: { session_id: await projectId(caller) } });
    const { groups, complete } = await answer.json<{ groups: Record<string, number>[]; complete: boolean }>();
    expect([groups[0]?.["count"], complete]).toEqual([520, true]);
    expect(Math.abs((groups[0]?.["latency_p50"] ?? 0) - 1)).toBeLessThan(0.026);
  });
});

itThorough("statistics cover all days, and say when they do not", { timeout: 60_000 }, async () => {
  const caller = await newCaller();
  const { workspaceId } = caller;
  const runs = Array.from({ length: 125 }, (_, n) => sentRun(NOON - n * DAY_MICROS));
  await sendMultipart(
    caller,
    runs.flatMap((run) => runParts("post", run)),
  );
  const session = await projectId(caller);
  const answer = await caller.fetch("/runs/stats", { body: { session: [session] } });
  expect(await answer.json()).toMatchObject({ run_count: 125, complete: true });
  const shown = await caller.fetch(`/sessions/${session}?include_stats=true`);
  expect(await shown.json()).toMatchObject({ run_count: 125, stats_complete: true });

  const budget = { partitions: 100 };
  const part = await projectStats(env, workspaceId, [session], { endTime: NOON - DAY_MICROS }, budget);
  expect([part.run_count, part.complete, budget.partitions]).toEqual([99, false, 0]);
});
