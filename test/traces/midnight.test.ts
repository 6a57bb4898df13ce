/** Filters on a whole trace, where midnight goes through the trace. */
import { beforeAll, expect, it } from "vitest";
import { type Caller, newCaller } from "../support/caller.ts";
import { NOON, projectId, runParts, type Sent, sendMultipart, sentRun } from "../support/traces.ts";

const MIDNIGHT = Date.UTC(2026, 10, 21) * 1000;

let caller: Caller;
let runs: Record<"root" | "late" | "later" | "otherRoot" | "otherLate" | "noonRoot" | "noonChild", Sent>;

beforeAll(async () => {
  caller = await newCaller();
  const root = sentRun(MIDNIGHT - 1_000, { name: "night" });
  const otherRoot = sentRun(MIDNIGHT - 2_000, { name: "other night" });
  const noonRoot = sentRun(NOON, { name: "night" });
  runs = {
    root,
    late: sentRun(MIDNIGHT + 1_000, { run_type: "llm" }, root),
    later: sentRun(MIDNIGHT + 2_000, { run_type: "tool", error: "boom" }, root),
    otherRoot,
    otherLate: sentRun(MIDNIGHT + 3_000, { run_type: "llm" }, otherRoot),
    noonRoot,
    noonChild: sentRun(NOON + 1_000, { run_type: "llm" }, noonRoot),
  };
  await sendMultipart(
    caller,
    Object.values(runs).flatMap((run) => runParts("post", run)),
  );
});

async function found(query: object): Promise<string[]> {
  const response = await caller.fetch("/runs/query", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ session: [await projectId(caller)], select: ["id"], ...query }),
  });
  const ids = (await response.json<{ runs: { id: string }[] }>()).runs.map(({ id }) => id);
  return Object.entries(runs).flatMap(([name, { id }]) => (ids.includes(id) ? [name] : []));
}

it("trace_filter sees a root of the day before", async () => {
  const query = { filter: 'eq(run_type, "llm")', trace_filter: 'eq(name, "night")' };
  expect(await found(query)).toEqual(["late", "noonChild"]);
  expect(await found({ ...query, start_time: "2026-11-21T00:00:00Z" })).toEqual(["late"]);
  expect(await found({ trace_filter: 'eq(name, "absent")' })).toEqual([]);
});

it("tree_filter sees the runs of the day before and of the day after", async () => {
  expect(await found({ tree_filter: 'eq(error, "boom")' })).toEqual(["root", "late", "later"]);
  expect(await found({ tree_filter: 'eq(name, "other night")' })).toEqual(["otherRoot", "otherLate"]);
  expect(await found({ tree_filter: "neq(error, null)", is_root: true })).toEqual(["root"]);
});

it("statistics count the same runs", async () => {
  const response = await caller.fetch("/runs/stats", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ session: [await projectId(caller)], tree_filter: 'eq(error, "boom")' }),
  });
  expect(await response.json()).toMatchObject({ run_count: 3 });
});
