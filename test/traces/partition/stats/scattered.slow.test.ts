/** Statistics of runs that arrive in another order than they started, as a backfill sends them. */
import { env, runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { newCaller } from "../../../support/caller.ts";
import { DAY, projectId, runParts, sendMultipart, sentRun } from "../../../support/traces.ts";

const HOUR = 3_600_000_000;
const START = Date.parse(`${DAY}T00:00:00Z`) * 1000;

/** Hours that its runs are spread over, their names, and the hours that each stored sum is of. */
const CASES: [hours: number, names: number, width: number][] = [
  [2, 10, 1],
  [24, 10, 6],
  [24, 60, 24],
  [24, 600, 0],
];

it.each(CASES)(
  "over %i hours with %i names have sums of %i hours, which say what the runs say",
  async (hours, names, width) => {
    const caller = await newCaller();
    const runs = Array.from({ length: 600 }, (_, n) => {
      // Seven hours further with each run: the hours come in no order.
      const start = START + ((n * 7) % hours) * HOUR + n * 1_000_000;
      return sentRun(start, {
        name: `name ${n % names}`,
        run_type: n % 2 ? "llm" : "chain",
        end_time: start / 1000 + (n % 7) * 100,
        outputs: { usage_metadata: { input_tokens: n, output_tokens: 1, total_tokens: n + 1, total_cost: 0.1 } },
        ...(n % 50 === 0 ? { error: "boom" } : {}),
      });
    });
    for (let at = 0; at < runs.length; at += 100) {
      await sendMultipart(
        caller,
        runs.slice(at, at + 100).flatMap((run) => runParts("post", run)),
      );
    }
    const session = [await projectId(caller)];
    const at = (hour: number, minute = 0) => new Date(START / 1000 + hour * 3_600_000 + minute * 60_000).toISOString();
    const selections = [
      {},
      { is_root: true },
      { filter: 'eq(run_type, "llm")' },
      { start_time: at(0), end_time: at(24) },
      { start_time: at(5, 30), end_time: at(18, 10) },
      { start_time: at(6), end_time: at(12) },
      { start_time: at(1, 10), end_time: at(1, 50) },
    ];
    const answers = async () =>
      Promise.all(
        selections.map(async (selection) => {
          const stats = await (await caller.fetch("/runs/stats", { body: { session, ...selection } })).json<Stats>();
          const { latency_p50: _p50, latency_p99: _p99, ...exact } = stats;
          const body = { session, start_time: at(0), end_time: at(24), by: "run_type", ...selection };
          const series = await (await caller.fetch("/api/v1/runs/stats/series", { body })).json<Series>();
          return { exact, buckets: series.buckets.map((bucket) => bucket.run_count), groups: listGroups(series) };
        }),
      );
    const before = await answers();
    expect(before[0]?.exact).toMatchObject({ run_count: 600 });
    const partition = env.TRACE_PARTITION.getByName(`${caller.workspaceId}/${session[0]}/${DAY}`);
    await runInDurableObject(partition, async (instance, { storage }) => {
      await (instance as unknown as { alarm(): Promise<void> }).alarm();
      expect(storage.sql.exec("SELECT has_sums FROM blocks").toArray()).toEqual([{ has_sums: width }]);
    });
    expect(await answers()).toEqual(before);
  },
);

interface Stats {
  latency_p50: number;
  latency_p99: number;
}

interface Series {
  buckets: { run_count: number }[];
  groups: { key: string; run_count: number }[];
}

const listGroups = ({ groups }: Series) =>
  groups.map(({ key, run_count }) => `${key}: ${run_count}`).toSorted((a, b) => (a < b ? -1 : 1));
