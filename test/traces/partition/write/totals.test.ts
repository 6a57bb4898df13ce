/** Totals of ancestors follow what happened below them: a correction, another parent, another trace. */
import { expect, it } from "vitest";
import { segment } from "../../../../src/traces/time.ts";
import { newCaller } from "../../../support/caller.ts";
import { ask } from "../../../support/examples.ts";
import { NOON, projectId, runParts, type Sent, sendMultipart, sentRun } from "../../../support/traces.ts";

const used = (input_tokens: number, output_tokens: number, more: object = {}) => ({
  outputs: { usage_metadata: { input_tokens, output_tokens, total_tokens: input_tokens + output_tokens, ...more } },
});

async function newTraces(...runs: Sent[]) {
  const caller = await newCaller();
  const send = async (kind: "post" | "patch", ...sent: object[]) =>
    expect(
      await (
        await sendMultipart(
          caller,
          sent.flatMap((run) => runParts(kind, run as Record<string, unknown>)),
        )
      ).json(),
    ).toMatchObject({ rejected: 0 });
  await send("post", ...runs);
  const read = async ({ id }: Sent) => ask<Record<string, unknown>>(caller, `/runs/${id}`);
  const split = async (run: Sent) => {
    const { prompt_tokens, completion_tokens, total_tokens } = await read(run);
    return [prompt_tokens, completion_tokens, total_tokens];
  };
  return { caller, send, read, split };
}

const placeOf = ({ id, trace_id, parent_run_id, dotted_order }: Sent) => ({
  id,
  trace_id,
  parent_run_id,
  dotted_order,
});
const below = (parent: Sent, { id }: Sent) => ({
  id,
  trace_id: parent.trace_id,
  parent_run_id: parent.id,
  dotted_order: `${parent.dotted_order}.${segment(NOON + 3000, id)}`,
});

it("a correction that moves tokens or costs from prompt to completion reaches the root", async () => {
  const root = sentRun(NOON, { name: "root" });
  const call = sentRun(NOON + 1000, { run_type: "llm", ...used(100, 0, { input_cost: 0.3, output_cost: 0.1 }) }, root);
  const { send, read, split } = await newTraces(root, call);
  expect(await split(root)).toEqual([100, 0, 100]);
  await send("patch", { ...placeOf(call), ...used(40, 60, { input_cost: 0.1, output_cost: 0.3 }) });
  expect([await split(call), await split(root)]).toEqual([
    [40, 60, 100],
    [40, 60, 100],
  ]);
  expect(await read(root)).toMatchObject({ prompt_cost: "0.1", completion_cost: "0.3", total_cost: "0.4" });
});

it("a root that repeats the sum of its call has the split of the call", async () => {
  const root = sentRun(NOON, { outputs: { usage_metadata: { total_tokens: 100 } } });
  const call = sentRun(NOON + 1000, { run_type: "llm", ...used(40, 60) }, root);
  const { split } = await newTraces(root, call);
  expect(await split(root)).toEqual([40, 60, 100]);
});

it("a run that a patch puts below another parent counts there only", async () => {
  const root = sentRun(NOON);
  const one = sentRun(NOON + 1000, {}, root);
  const other = sentRun(NOON + 2000, {}, root);
  const call = sentRun(NOON + 3000, { run_type: "llm", ...used(70, 30) }, one);
  const { send, split } = await newTraces(root, one, other, call);
  await send("patch", below(other, call));
  expect([await split(root), await split(one), await split(other)]).toEqual([
    [70, 30, 100],
    [0, 0, 0],
    [70, 30, 100],
  ]);
});

it("a run that a patch puts into another trace counts there only", async () => {
  const root = sentRun(NOON);
  const other = sentRun(NOON + 2000);
  const call = sentRun(NOON + 3000, { run_type: "llm", ...used(70, 30) }, root);
  const { caller, send, split } = await newTraces(root, other, call);
  await send("patch", below(other, call));
  expect([await split(root), await split(other)]).toEqual([
    [0, 0, 0],
    [70, 30, 100],
  ]);
  const session = [await projectId(caller)];
  for (const body of [{ session }, { session, is_root: true }])
    expect(await ask(caller, "/runs/stats", { body })).toMatchObject({ total_tokens: 100 });
});

it("runs that come without their places count for the ancestors that they turn out to have", async () => {
  const root = sentRun(NOON);
  const middle = sentRun(NOON + 1000, {}, root);
  const call = sentRun(NOON + 3000, { run_type: "llm", ...used(70, 30) }, middle);
  const bare = ({ dotted_order: _place, trace_id: _trace, ...run }: Sent) => run;
  const { send, split } = await newTraces();
  for (const run of [bare(call), bare(middle), root]) await send("post", run);
  for (const run of [root, middle, call]) expect(await split(run)).toEqual([70, 30, 100]);
});
