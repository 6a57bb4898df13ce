/** Statistics of threads: the figures that a client selects, over several days. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, newCaller } from "../../support/caller.ts";
import { NOON, projectId, runParts, sendMultipart, sentRun } from "../../support/traces.ts";
import { isoFromMicros } from "../../../src/traces/time.ts";

const DAY_MICROS = 86_400_000_000;

let caller: Caller;
let session: string;
let feedback: string;

/** A turn with tokens and costs, `seconds` long. */
function turn(start: number, thread: string | undefined, seconds: number, tokens: number, more: object = {}) {
  const usage_metadata = {
    input_tokens: tokens,
    output_tokens: 1,
    total_tokens: tokens + 1,
    input_token_details: { cache_read: 2, __proto__ld: 1 },
    input_cost: 0.1,
    output_cost: 0.2,
    total_cost: 0.3,
    output_cost_details: { reasoning: 0.1 },
  };
  return sentRun(start, {
    run_type: "llm",
    end_time: (start + seconds * 1e6) / 1000,
    extra: { metadata: { ...(thread ? { thread_id: thread } : {}), usage_metadata } },
    inputs: {},
    ...more,
  });
}

beforeAll(async () => {
  caller = await newCaller();
  const first = turn(NOON - DAY_MICROS, "t", 1, 10);
  const runs = [
    first,
    turn(NOON, "t", 2, 20, { error: "broken" }),
    turn(NOON + 1_000_000, "t", 9, 30),
    turn(NOON + 2_000_000, "u", 4, 40),
    turn(NOON + 3_000_000, undefined, 100, 1_000),
  ];
  // A run below a turn is no turn.
  const below = sentRun(NOON - DAY_MICROS + 1_000, { extra: { metadata: { thread_id: "t" } } }, first);
  await sendMultipart(
    caller,
    [...runs, below].flatMap((run) => runParts("post", run)),
  );
  session = await projectId(caller);
  feedback = first.id;
  await caller.fetch("/feedback", { body: { run_id: feedback, key: "liked", score: 1 } });
});

const fetchAll = async (body: object, by = caller) =>
  by.fetch("/api/v2/threads/stats", {
    body: { project_id: session, min_start_time: isoFromMicros(NOON - 2 * DAY_MICROS), ...body },
  });
const fetchOne = async (thread: string, query: string, by = caller) =>
  by.fetch(`/api/v2/threads/${thread}/stats?session_id=${session}&${query}`);

describe("of one thread", () => {
  it("are of its turns on all days", async () => {
    const names =
      "TURNS FIRST_START_TIME LAST_START_TIME LAST_END_TIME LATENCY_P50 LATENCY_P99 PROMPT_TOKENS PROMPT_COST";
    const more =
      "COMPLETION_TOKENS,TOTAL_TOKENS,TOTAL_COST,PROMPT_TOKEN_DETAILS,COMPLETION_COST_DETAILS,FEEDBACK_STATS";
    const selects = [...names.split(" "), more].map((name) => `selects=${name}`).join("&");
    expect(await (await fetchOne("t", selects)).json()).toEqual({
      turns: 3,
      first_start_time: isoFromMicros(NOON - DAY_MICROS),
      last_start_time: isoFromMicros(NOON + 1_000_000),
      last_end_time: isoFromMicros(NOON + 10_000_000),
      latency_p50_seconds: 2,
      latency_p99_seconds: 9,
      prompt_tokens: 60,
      completion_tokens: 3,
      total_tokens: 63,
      prompt_cost: 0.3,
      total_cost: 0.9,
      prompt_token_details: { raw: { cache_read: 6, __proto__ld: 3 } },
      completion_cost_details: { raw: { reasoning: 0.3 } },
      feedback_stats: { liked: expect.objectContaining({ n: 1, avg: 1 }) },
      complete: true,
    });
  });

  it("are of the turns that match, and have nothing that is not selected", async () => {
    const filter = encodeURIComponent('eq(status, "error")');
    expect(await (await fetchOne("t", `selects=turns&filter=${filter}`)).json()).toEqual({ turns: 1, complete: true });
    const none = await fetchOne("t", `selects=TURNS&selects=LATENCY_P50&filter=${encodeURIComponent('eq(name, "x")')}`);
    expect(await none.json()).toEqual({ turns: 0, complete: true });
  });

  it.each([
    ["t", "", 422],
    ["t", "selects=THREAD_COUNT", 422],
    ["t", "selects=constructor", 422],
    ["t", "selects=TURNS&filter=eq(", 400],
    ["other", "selects=TURNS", 404],
  ])("%s ?%s is a %i", async (thread, query, status) => {
    expect((await fetchOne(thread, query)).status).toBe(status);
  });
});

describe("of all threads", () => {
  it("are of their turns, each once", async () => {
    const select = ["THREAD_COUNT", "TRACE_COUNT", "TOTAL_TOKENS", "TOTAL_COST", "ERROR_RATE", "STREAMING_RATE"];
    const more = ["LATENCY_P50", "MEDIAN_TOKENS", "FIRST_TOKEN_P50", "PROMPT_TOKEN_DETAILS", "COMPLETION_COST_DETAILS"];
    expect(await (await fetchAll({ select: [...select, ...more] })).json()).toEqual({
      thread_count: 2,
      trace_count: 4,
      total_tokens: 104,
      total_cost: 1.2,
      error_rate: 0.25,
      streaming_rate: 0,
      latency_p50_seconds: 4,
      median_tokens: 31,
      prompt_token_details: { cache_read: 8, __proto__ld: 4 },
      completion_cost_details: { reasoning: 0.4 },
      complete: true,
    });
  });

  it("are of the window and the filters", async () => {
    const select = ["THREAD_COUNT", "TRACE_COUNT"];
    const newer = await fetchAll({ select, min_start_time: isoFromMicros(NOON + 1_000_000) });
    expect(await newer.json()).toMatchObject({ thread_count: 2, trace_count: 2 });
    const failed = await fetchAll({ select, filter: 'eq(status, "error")' });
    expect(await failed.json()).toMatchObject({ thread_count: 1, trace_count: 1 });
  });

  it.each([
    [{}, 422],
    [{ select: [] }, 422],
    [{ select: ["TURNS"] }, 422],
    [{ select: ["THREAD_FEEDBACK_STATS"] }, 501],
    [{ select: ["TRACE_COUNT"], thread_filter: "gt(turns, 3)" }, 501],
  ])("%j is a %i", async (body, status) => {
    expect((await fetchAll(body)).status).toBe(status);
  });
});

it("another workspace reads none", async () => {
  const other = await newCaller();
  expect((await fetchOne("t", "selects=TURNS", other)).status).toBe(404);
  expect(await (await fetchAll({ select: ["THREAD_COUNT", "TRACE_COUNT"] }, other)).json()).toMatchObject({
    thread_count: 0,
    trace_count: 0,
  });
});
