/** Examples that take over from runs: who may make them. */
import { expect, it } from "vitest";
import { type Caller, newCaller, send } from "../../../support/caller.ts";
import { ask, exampleParts, newDataset, sendExamples } from "../../../support/examples.ts";
import { NOON, runParts, sendMultipart, sentRun } from "../../../support/traces.ts";

it("examples take nothing over from runs that the caller may not read", async () => {
  const caller = await newCaller();
  const permissions = ["datasets.read", "datasets.write"];
  await caller.fetch("/api/v1/roles/sets", { method: "PUT", body: { permissions } });
  const { key } = await ask<{ key: string }>(caller, "/api/v1/api-keys", { body: { name: "sets", role: "sets" } });
  const fetch: Caller["fetch"] = async (path, options) =>
    send(path, { ...options, headers: { ...options?.headers, "x-api-key": key } });
  const limited: Caller = { ...caller, key, fetch };
  const dataset_id = await newDataset(caller);
  const run = sentRun(NOON, { inputs: { q: "secret" }, outputs: {}, end_time: "2026-11-20T15:49:55Z" });
  await sendMultipart(caller, runParts("post", run));
  const id = crypto.randomUUID();
  expect((await sendExamples(limited, dataset_id, exampleParts(id, { inputs: {} }))).status).toBe(201);
  for (const taken of [{ use_source_run_io: true }, { use_source_run_attachments: ["picture"] }]) {
    const head = { source_run_id: run.id, ...taken };
    const other = exampleParts(crypto.randomUUID(), head);
    const method = "PATCH";
    const answers = [
      await fetch("/examples", { method: "POST", body: { dataset_id, ...head } }),
      await fetch("/examples/bulk", { method: "POST", body: [{ dataset_id, ...head }] }),
      await fetch("/examples/bulk", { method, body: [{ id, ...head }] }),
      await fetch(`/examples/${id}`, { method, body: head }),
      await sendExamples(limited, dataset_id, other),
      await sendExamples(limited, dataset_id, exampleParts(id, head), method),
    ];
    expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(403));
    expect(await answers[0]?.text()).toContain("traces.read");
  }
});
