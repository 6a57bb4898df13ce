import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, newCaller, send } from "../../../support/caller.ts";
import { NOON, projectId, runParts, sendMultipart, sentRun } from "../../../support/traces.ts";

interface Figures {
  start_time?: string;
  key?: string;
  run_count: number;
  error_count: number;
  pending_count: number;
  total_tokens: number;
  total_cost: number;
  latency_p50: number | null;
  latency_p99: number | null;
}

interface Series {
  complete: boolean;
  total: Figures;
  buckets: Figures[];
  groups: Figures[] | null;
}

const PATH = "/api/v1/runs/stats/series";
const HOUR = 3_600_000_000;
const WINDOW = { start_time: "2026-11-20T14:00:00Z", end_time: "2026-11-20T18:00:00Z" };

let caller: Caller;
let session: string;

async function series(body: object, by: Caller = caller): Promise<Series> {
  const answer = await by.fetch(PATH, { body });
  expect(answer.status).toBe(200);
  return answer.json<Series>();
}

const counts = (figures: Figures[] | null) => figures?.map(({ key, run_count }) => [key, run_count]);

beforeAll(async () => {
  caller = await newCaller();
  const endAfter = (seconds: number, more: object = {}) => ({ end_time: NOON / 1000 + seconds * 1000, ...more });
  const usage = { extra: { metadata: { ls_model_name: "small", usage_metadata: USAGE } } };
  const runs = [
    sentRun(NOON, { name: "agent", tags: ["blue", "new"], ...endAfter(1) }),
    sentRun(NOON + 1_000, { name: "agent", tags: ["blue"], ...endAfter(3, { error: "broken" }) }),
    sentRun(NOON + 2_000, { name: "model", run_type: "llm", ...endAfter(2, usage) }),
    sentRun(NOON + HOUR, { name: "agent" }),
    sentRun(NOON - 24 * HOUR, { name: "yesterday", end_time: NOON / 1000 - 86_400_000 + 500 }),
  ];
  await sendMultipart(
    caller,
    runs.flatMap((run) => runParts("post", run)),
  );
  session = await projectId(caller);
});

const USAGE = { input_tokens: 30, output_tokens: 12, total_tokens: 42 };

describe("a series of statistics", () => {
  it("has a bucket for each hour of the window, also for one without runs", async () => {
    const { buckets, total, groups, complete } = await series({ session: [session], ...WINDOW });
    expect(buckets.map(({ start_time, run_count }) => [start_time?.slice(11, 16), run_count])).toEqual([
      ["14:00", 0],
      ["15:00", 3],
      ["16:00", 1],
      ["17:00", 0],
    ]);
    expect([total.run_count, total.error_count, total.pending_count, total.total_tokens]).toEqual([4, 1, 1, 42]);
    expect([groups, complete]).toEqual([null, true]);
  });

  it("counts by the minute", async () => {
    const window = { start_time: "2026-11-20T15:48:00Z", end_time: "2026-11-20T15:51:00Z" };
    const { buckets } = await series({ session: [session], ...window, interval: "minute" });
    expect(buckets.map(({ run_count }) => run_count)).toEqual([0, 3, 0]);
  });

  it("gives percentiles to 2.5 %, and none where no run has ended", async () => {
    const { buckets } = await series({ session: [session], ...WINDOW });
    const [empty, busy, open] = buckets;
    expect([empty?.latency_p50, open?.latency_p50]).toEqual([null, null]);
    expect(Math.abs((busy?.latency_p50 ?? 0) / 2 - 1)).toBeLessThan(0.026);
    expect(Math.abs((busy?.latency_p99 ?? 0) / 3 - 1)).toBeLessThan(0.026);
  });

  it("joins projects and days, and counts by UTC day", async () => {
    const window = { start_time: "2026-11-18T00:00:00Z", end_time: "2026-11-21T00:00:00Z" };
    const { buckets } = await series({ ...window, interval: "day" });
    expect(buckets.map(({ start_time, run_count }) => [start_time?.slice(0, 10), run_count])).toEqual([
      ["2026-11-18", 0],
      ["2026-11-19", 1],
      ["2026-11-20", 4],
    ]);
  });

  it.each([
    [
      "status",
      [
        ["error", 1],
        ["pending", 1],
        ["success", 2],
      ],
    ],
    [
      "name",
      [
        ["agent", 3],
        ["model", 1],
      ],
    ],
    [
      "run_type",
      [
        ["chain", 3],
        ["llm", 1],
      ],
    ],
    ["model", [["small", 1]]],
    [
      "tag",
      [
        ["blue", 2],
        ["new", 1],
      ],
    ],
  ])("breaks the runs down by %s", async (by, expected) => {
    const { groups } = await series({ session: [session], ...WINDOW, by });
    expect(counts(groups)?.sort()).toEqual(expected);
  });

  it("takes the conditions of a query, and gives the largest groups only", async () => {
    const { total, groups } = await series({ session: [session], ...WINDOW, by: "name", max_groups: 1 });
    expect([total.run_count, counts(groups)]).toEqual([4, [["agent", 3]]]);
    const failed = await series({ session: [session], ...WINDOW, filter: 'has(tags, "blue")', error: true });
    expect(failed.total.run_count).toBe(1);
  });

  it.each([
    ["an interval that is none", { interval: "week" }, 422, "interval"],
    ["a property that is none", { by: "mood" }, 422, "by"],
    ["a window that ends first", { start_time: WINDOW.end_time, end_time: WINDOW.start_time }, 422, "before"],
    ["a window of too many hours", { start_time: "2025-01-01T00:00:00Z" }, 422, '"day"'],
    ["a filter with a fault", { filter: "eq(name" }, 400, "position"],
  ])("refuses %s", async (_, body, status, words) => {
    const answer = await caller.fetch(PATH, { body });
    expect(answer.status).toBe(status);
    expect((await answer.json<{ detail: string }>()).detail).toContain(words);
  });

  it("needs a key, and shows nothing of another workspace", async () => {
    expect((await send(PATH, { body: {} })).status).toBe(401);
    expect((await send(PATH, { body: {}, headers: { "x-api-key": "wrong" } })).status).toBe(401);
    const other = await newCaller();
    expect((await series({ session: [session], ...WINDOW }, other)).total.run_count).toBe(0);
    expect((await series(WINDOW, other)).total.run_count).toBe(0);
  });
});

describe("usage", () => {
  const path = "/api/v1/usage?start_date=2026-11-19&end_date=2026-11-20";

  it("has the runs and bytes of each day and project, and nothing of another workspace", async () => {
    interface Usage {
      traces: { runs: number; days: { day: string; project_name: string; bytes: number }[] };
    }
    const { traces } = await (await caller.fetch(path)).json<Usage>();
    expect(traces.days.map(({ day, project_name }) => [day, project_name])).toEqual([
      ["2026-11-19", "tests"],
      ["2026-11-20", "tests"],
    ]);
    expect(traces.days.every(({ bytes }) => bytes > 0)).toBe(true);
    const other = await newCaller();
    expect((await (await other.fetch(path)).json<Usage>()).traces).toEqual({ runs: 0, bytes: 0, days: [] });
  });

  it("needs a key, and a day that is one", async () => {
    expect((await send(path)).status).toBe(401);
    expect((await send(path, { headers: { "x-api-key": "wrong" } })).status).toBe(401);
    expect((await caller.fetch("/api/v1/usage?start_date=noon")).status).toBe(422);
  });
});
