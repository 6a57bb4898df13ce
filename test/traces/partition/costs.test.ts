/** Costs and their details, of a run and of what is below it. */
import { expect, it } from "vitest";
import { newCaller } from "../../support/caller.ts";
import { NOON, projectId, runParts, sendMultipart, sentRun } from "../../support/traces.ts";

it("sums costs and their details without the noise of binary fractions", async () => {
  const caller = await newCaller();
  const root = sentRun(NOON, { name: "root" });
  const calls = [0.1, 0.2].map((input_cost, n) =>
    sentRun(
      NOON + 1_000 * (n + 1),
      {
        run_type: "llm",
        outputs: {
          usage_metadata: {
            input_tokens: 1,
            output_tokens: 1,
            total_tokens: 2,
            input_cost,
            output_cost: 0.4,
            input_cost_details: { cache_read: input_cost },
            output_cost_details: { reasoning: 0.4 },
          },
        },
      },
      root,
    ),
  );
  await sendMultipart(
    caller,
    [root, ...calls].flatMap((run) => runParts("post", run)),
  );
  const found = {
    prompt_cost: "0.3",
    total_cost: "1.1",
    prompt_cost_details: { cache_read: 0.3 },
    completion_cost_details: { reasoning: 0.8 },
  };
  expect(await (await caller.fetch(`/runs/${root.id}`)).json()).toMatchObject(found);
  const session = [await projectId(caller)];
  const selection = { session, filter: 'eq(run_type, "llm")' };
  const stats = await caller.fetch("/runs/stats", { body: selection });
  expect(await stats.json()).toMatchObject({ prompt_cost: "0.3", total_cost: "1.1" });
  const listed = await caller.fetch("/runs/query", { body: { session, select: ["name"], is_root: true } });
  expect((await listed.json<{ runs: object[] }>()).runs).toMatchObject([
    { prompt_cost_details: found.prompt_cost_details, s3_urls: null },
  ]);
});
