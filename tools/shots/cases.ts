/** What the pictures of datasets and annotation queues show. */
import type { TestServer } from "../../test/support/server.ts";
import { callAs } from "../../test/support/workspace.ts";

const QUESTIONS = [
  ["Where is order 1182?", "It left Turin on Monday and arrives tomorrow."],
  ["I want my money back for order 1190.", "Refunds above 50 EUR need a person. I have asked one."],
  ["Which carriers do you use?", "North and Lowland."],
] as const;

/** A dataset with splits, and a queue that two people reviewed in part. */
export async function seedCases(server: TestServer) {
  const call = <T = { id: string }>(method: string, path: string, body?: unknown) =>
    callAs<T>(server, method, path, body);
  const dataset = await call("POST", "/api/v1/datasets", {
    name: "support questions",
    description: "What customers asked, with the answer that a person wrote.",
  });
  for (const [i, [question, answer]] of QUESTIONS.entries())
    await call("POST", "/api/v1/examples", {
      dataset_id: dataset.id,
      inputs: { messages: [{ role: "user", content: question }] },
      outputs: { messages: [{ role: "assistant", content: answer }] },
      split: i === 1 ? ["refunds", "hard"] : ["orders"],
      metadata: { source: "mailbox" },
    });
  const post = QUESTIONS.map(([question, answer], i) => ({
    id: crypto.randomUUID(),
    name: "support",
    run_type: "chain",
    session_name: "support-review",
    start_time: new Date(Date.now() - 90_000_000 + i).toISOString(),
    end_time: new Date(Date.now() - 89_998_000).toISOString(),
    inputs: { messages: [{ role: "user", content: question }] },
    outputs: { messages: [{ role: "assistant", content: answer.replace("Monday", "Friday") }] },
  }));
  await call("POST", "/runs/batch", { post, patch: [] });
  const config = {
    type: "categorical",
    categories: ["rude", "plain", "kind"].map((label, value) => ({ label, value })),
  };
  await call("POST", "/api/v1/feedback-configs", { feedback_key: "tone", feedback_config: config });
  const fields = {
    rubric_instructions: "Look the order up first. An answer without a date is not complete.",
    num_reviewers_per_item: 2,
    rubric_items: [
      { feedback_key: "correct", description: "Is each fact of the answer right?" },
      { feedback_key: "tone", description: "How does it sound?" },
    ],
  };
  const queue = await call("POST", "/api/v1/annotation-queues", { name: "answers of support", ...fields });
  const ids = post.map(({ id }) => id);
  const items = await call<{ id: string }[]>("POST", `/api/v1/annotation-queues/${queue.id}/runs`, ids);
  for (const scores of [
    [1, 2],
    [1, 0],
  ]) {
    const { key } = await call<{ key: string }>("POST", "/api/v1/api-keys", {
      name: "reviewer",
      scopes: ["read", "write"],
    });
    const as = { ...server, key, headers: { ...server.headers, "x-api-key": key } };
    const me = await callAs<{ id: string }>(as, "GET", "/api/v1/me");
    for (const [i, tone] of scores.entries()) {
      for (const [name, score] of [
        ["correct", 1],
        ["tone", tone],
      ] as const)
        await callAs(as, "POST", "/api/v1/feedback", {
          run_id: ids[i],
          key: name,
          score,
          feedback_source: { type: "app", user_id: me.id },
        });
      await callAs(as, "POST", `/api/v1/annotation-queues/status/${items[i]?.id}`, { status: "completed" });
    }
  }
  return { dataset: dataset.id, queue: queue.id };
}
