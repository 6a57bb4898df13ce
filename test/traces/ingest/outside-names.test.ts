/** Names that come from outside, and that every JavaScript object inherits something by. */
import { expect, it } from "vitest";
import { addUsage, type Usage } from "../../../src/limits/prices/usage.ts";
import { newCaller } from "../../support/caller.ts";
import { NOON, projectId, runParts, sendMultipart, sentRun } from "../../support/traces.ts";

const NAMES = ["__proto__", "constructor", "toString"];
const DAY_MICROS = 86_400_000_000;

it("of fields of runs select nothing", async () => {
  const caller = await newCaller();
  const run = sentRun(NOON);
  await sendMultipart(caller, runParts("post", run));
  const session = [await projectId(caller)];
  const ask = async (select: string[]) => {
    const answer = await caller.fetch("/runs/query", { body: { session, select } });
    expect(answer.status).toBe(200);
    return answer.text();
  };
  expect(await ask(["id", ...NAMES])).toBe(await ask(["id"]));
  for (const name of NAMES) {
    const body = { project_ids: session, selects: [name], min_start_time: run.start_time };
    expect((await caller.fetch("/api/v2/runs/query", { body })).status).toBe(422);
  }
});

it("of feedback are counted over days", async () => {
  const caller = await newCaller();
  const runs = [sentRun(NOON), sentRun(NOON - DAY_MICROS)];
  await sendMultipart(
    caller,
    runs.flatMap((run) => runParts("post", run)),
  );
  for (const { id } of runs) {
    for (const name of NAMES) await caller.fetch("/feedback", { body: { run_id: id, key: name, value: name } });
  }
  const answer = await caller.fetch("/runs/stats", { body: { session: [await projectId(caller)] } });
  const { feedback_stats } = await answer.json<{ feedback_stats: Record<string, { values: object }> }>();
  const counted = Object.entries(feedback_stats).map(([key, { values }]) => [key, Object.entries(values)]);
  expect(counted).toHaveLength(NAMES.length);
  expect(counted).toEqual(expect.arrayContaining(NAMES.map((name) => [name, [[name, 2]]])));
});

it("of kinds of tokens are summed", () => {
  const details = JSON.parse('{"constructor": 1, "__proto__": 2}') as Record<string, number>;
  const usage: Usage = { prompt_tokens: 3, completion_tokens: 0, total_tokens: 3, prompt_token_details: details };
  const none: Usage = { ...usage, prompt_token_details: { other: 1 } };
  const sum = addUsage(addUsage(none, usage), usage).prompt_token_details;
  expect(Object.entries(sum ?? {})).toEqual([
    ["other", 1],
    ["constructor", 2],
    ["__proto__", 4],
  ]);
});

it("of operations and attributes of spans are data", async () => {
  const caller = await newCaller();
  for (const key of ["gen_ai.operation.name", "openinference.span.kind", "llm.request.type"]) {
    const hex = crypto.randomUUID().replaceAll("-", "");
    const attributes = [
      { key, value: { stringValue: "constructor" } },
      { key: "__proto__", value: { kvlistValue: { values: [{ key: "mood", value: { stringValue: "good" } }] } } },
    ];
    const times = { startTimeUnixNano: `${NOON}000`, endTimeUnixNano: `${NOON + 1}000` };
    const span = { traceId: hex, spanId: hex.slice(0, 16), name: "span", attributes, ...times };
    const sent = await caller.fetch("/otel/v1/traces", {
      body: { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] },
    });
    expect(await sent.json()).toEqual({ partialSuccess: {} });
    const id = `00000000-0000-0000-${hex.slice(0, 4)}-${hex.slice(4, 16)}`;
    const text = await (await caller.fetch(`/runs/${id}`)).text();
    expect(JSON.parse(text)).toMatchObject({ run_type: key === "llm.request.type" ? "llm" : "chain" });
    expect(text).toContain('"__proto__":{"mood":"good"}');
  }
});
