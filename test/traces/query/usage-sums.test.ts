/** Tokens and costs of a project are those of its calls of models, however deep these are nested. */
import { env, runInDurableObject } from "cloudflare:test";
import { beforeAll, expect, it } from "vitest";
import { closeBlock } from "../../../src/traces/partition/write/close.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { ask } from "../../support/examples.ts";
import { DAY, NOON, projectId, runParts, type Sent, sendMultipart, sentRun } from "../../support/traces.ts";

let caller: Caller;
let session: string;
const CALLS = 20;
const COST = 0.035;

const usage = { usage_metadata: { input_tokens: 60, output_tokens: 40, total_tokens: 100, total_cost: COST } };

/** A call below three functions; one of them repeats the usage of the call. */
function trace(n: number): Sent[] {
  const at = NOON + n * 10_000_000;
  const root = sentRun(at, { name: "agent", extra: { metadata: { user_id: "ada" } } });
  const plan = sentRun(at + 1000, { name: "plan", outputs: usage, extra: { metadata: { user_id: "ada" } } }, root);
  const step = sentRun(at + 2000, { name: "step" }, plan);
  const model = { ls_model_name: "m", user_id: "ada" };
  const call = sentRun(at + 3000, { name: "call", run_type: "llm", outputs: usage, extra: { metadata: model } }, step);
  // A model that another one calls: the outer one reports the whole.
  const inner = sentRun(at + 4000, { name: "inner", run_type: "llm", outputs: usage }, call);
  return [root, plan, step, call, inner];
}

beforeAll(async () => {
  caller = await newCaller();
  const runs = Array.from({ length: CALLS }, (_, n) => trace(n)).flat();
  await sendMultipart(
    caller,
    runs.flatMap((run) => runParts("post", run)),
  );
  session = await projectId(caller);
});

const TOTAL = { total_tokens: 100 * CALLS, prompt_tokens: 60 * CALLS, completion_tokens: 40 * CALLS };
const costOf = ({ total_cost }: { total_cost: unknown }) => Number(total_cost);

interface Sums {
  total_cost: string;
  run_count: number;
}

interface Series {
  total: Sums;
  groups: { key: string; total_tokens: number }[];
}

/** All runs, roots, calls, a name at each depth, and two depths at once. */
const SELECTIONS = [
  {},
  { is_root: true },
  { run_type: "llm" },
  { filter: "eq(is_root, true)" },
  { filter: 'eq(name, "agent")' },
  { filter: 'eq(name, "step")' },
  { filter: 'in(name, ["plan", "step", "call"])' },
  { filter: 'eq(status, "pending")' },
  { filter: 'and(eq(metadata_key, "user_id"), eq(metadata_value, "ada"))' },
];

it.each(["open blocks", "closed blocks"])(
  "count once in every statistic, whichever runs it selects (%s)",
  async (blocks) => {
    if (blocks === "closed blocks") {
      const partition = env.TRACE_PARTITION.getByName(`${caller.workspaceId}/${session}/${DAY}`);
      await runInDurableObject(partition, (_, { storage }) => {
        storage.transactionSync(() => closeBlock(storage.sql, 0));
      });
    }
    expect(await ask(caller, `/sessions/${session}?include_stats=true`)).toMatchObject({
      ...TOTAL,
      run_count: 5 * CALLS,
    });
    for (const selection of SELECTIONS) {
      const stats = await ask<Sums>(caller, "/runs/stats", { body: { session: [session], ...selection } });
      expect([selection, stats]).toMatchObject([selection, TOTAL]);
      expect(costOf(stats)).toBeCloseTo(COST * CALLS, 9);
      const window = { start_time: `${DAY}T00:00:00Z`, end_time: `${DAY}T23:59:00Z` };
      for (const interval of ["hour", "minute"]) {
        if (interval === "minute") window.start_time = `${DAY}T15:00:00Z`;
        const body = { session: [session], ...selection, ...window, interval };
        const series = await ask<Series>(caller, "/runs/stats/series", { body });
        expect([selection, series.total]).toMatchObject([selection, TOTAL]);
      }
    }
    const body = { session: [session], start_time: `${DAY}T00:00:00Z`, end_time: `${DAY}T23:59:00Z`, by: "name" };
    const { groups } = await ask<Series>(caller, "/runs/stats/series", { body });
    expect(groups.reduce((sum, { total_tokens }) => sum + total_tokens, 0)).toBe(100 * CALLS);
    expect(groups.find(({ key }) => key === "call")?.total_tokens).toBe(100 * CALLS);
  },
);

it("each run shows the usage of all that is below it", async () => {
  const { runs } = await ask<{ runs: { name: string; total_tokens: number }[] }>(caller, "/runs/query", {
    body: { session: [session], limit: 5, order: "asc", select: ["name", "total_tokens"] },
  });
  expect(runs.map(({ name, total_tokens }) => [name, total_tokens])).toEqual(
    ["agent", "plan", "step", "call", "inner"].map((name) => [name, 100]),
  );
});
