/** Rows of D1 beside a trace that go with it: items of threads, logs of rules, links for feedback. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { database } from "../../src/db/client.ts";
import { saveFailure } from "../../src/automation/rules/store.ts";
import { type Caller, newCaller } from "../support/caller.ts";
import { ask } from "../support/examples.ts";
import { newRule, sendRuns, workOnce } from "../support/rules.ts";
import { stubFetch } from "../support/stub-fetch.ts";
import { NOON, projectId, runParts, sendMultipart, sentRun } from "../support/traces.ts";

let caller: Caller;
beforeEach(async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  caller = await newCaller();
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const drop = async (traces: string[]) =>
  ask(caller, "/runs/delete", { body: { session_id: await projectId(caller), trace_ids: traces } });

it("the item of a thread goes when the thread is deleted, in both generations of the API", async () => {
  const extra = (thread: string) => ({ extra: { metadata: { thread_id: thread } } });
  await sendRuns(caller, NOON, ["jo@example.com", "ann@example.com", "other"].map(extra));
  const session_id = await projectId(caller);
  const { id } = await ask<{ id: string }>(caller, "/annotation-queues", { body: { name: "q" } });
  const threads = ["jo@example.com", "ann@example.com", "other"];
  await ask(caller, `/v1/platform/annotation-queues/${id}/items`, {
    body: { items: threads.map((thread_id) => ({ item_type: "THREAD", thread_id, project_id: session_id })) },
  });
  const names = async () => {
    const rows = await env.DB.prepare("SELECT thread_id FROM annotation_items WHERE queue_id = ?")
      .bind(id)
      .all<{ thread_id: string }>();
    return rows.results.map(({ thread_id }) => thread_id).toSorted();
  };
  expect(await names()).toEqual(threads.toSorted());
  await ask(caller, `/api/v2/threads/jo@example.com?project_id=${session_id}`, { method: "DELETE" });
  expect(await names()).toEqual(["ann@example.com", "other"]);
  await ask(caller, "/runs/delete", { body: { session_id, thread_ids: ["ann@example.com"] } });
  expect(await names()).toEqual(["other"]);
});

it("the log of a rule and the links for feedback do not name a deleted trace, also when a worker writes late", async () => {
  stubFetch(async () => new Response(null, { status: 400 }));
  await sendRuns(caller, NOON, [{ name: "first" }]);
  const rule = await newRule(caller, { webhooks: [{ url: "https://hook.example.com/x" }] });
  await scheduler.wait(5);
  const sent = await sendRuns(caller, NOON + 1_000_000, [{}, {}]);
  const [gone = "", kept = ""] = sent.map(({ id }) => id);
  const child = sentRun(NOON + 1_500_000, {}, sent[0]);
  expect((await sendMultipart(caller, runParts("post", child))).status).toBe(202);
  for (const run_id of [gone, kept, child.id])
    await ask(caller, "/feedback/tokens", { body: { run_id, feedback_key: "good" } });
  for (let n = 0; n < 3; n++) await workOnce(caller, rule);
  const logged = async () =>
    (await ask<{ run_id: string }[]>(caller, `/runs/rules/${rule.id}/logs`)).map(({ run_id }) => run_id);
  expect((await logged()).toSorted()).toEqual([gone, kept].toSorted());
  await drop([gone]);
  const late = { ruleId: rule.id, runId: gone, traceId: gone, action: "webhook", error: "no", at: 1, isFinal: true };
  await saveFailure(database(env.DB), late);
  expect(await logged()).toEqual([kept]);
  const tokens = await env.DB.prepare("SELECT run_id FROM feedback_tokens WHERE workspace_id = ?")
    .bind(caller.workspaceId)
    .all();
  expect(tokens.results).toEqual([{ run_id: kept }]);
});
