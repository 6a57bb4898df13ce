/** What the pictures of rules and alerts show. */
import type { TestServer } from "../../test/support/server.ts";
import { callAs } from "../../test/support/workspace.ts";

const QUESTIONS = [
  "Where is order 1182?",
  "I want my money back.",
  "Which carriers do you use?",
  "Do you ship to Turin?",
];

/** Rules of which one fails, and alerts in each of their states. */
export async function seedWatched(server: TestServer, queue: string) {
  const call = <T = { id: string }>(method: string, path: string, body?: unknown) =>
    callAs<T>(server, method, path, body);
  // Some minutes have passed for the server before.
  let minute = 20;
  const nextMinute = async () => {
    await fetch(`${server.url}/cdn-cgi/handler/scheduled?time=${Date.now() + ++minute * 60_000}`);
    await new Promise((resolve) => setTimeout(resolve, 500));
  };
  const send = (failed: number) =>
    call("POST", "/runs/batch", {
      post: QUESTIONS.map((content, i) => ({
        id: crypto.randomUUID(),
        name: "support",
        run_type: "chain",
        session_name: "support-desk",
        start_time: new Date(Date.now() - 4_000 + i).toISOString(),
        end_time: new Date().toISOString(),
        inputs: { messages: [{ role: "user", content }] },
        ...(i < failed
          ? { error: "TimeoutError: the carrier did not answer within 10 s" }
          : { outputs: { messages: [{ role: "assistant", content: `${content} I have looked it up.` }] } }),
      })),
      patch: [],
    });
  await send(3);
  const [project] = await call<{ id: string }[]>("GET", "/api/v1/sessions?name=support-desk");
  const shared = { session_id: project?.id, filter: "eq(is_root, true)" };
  const rule = (display_name: string, more: object) =>
    call("POST", "/runs/rules", { ...shared, display_name, sampling_rate: 1, ...more });
  const prompt = [
    ["system", "You judge the answers of a support agent."],
    ["human", "Question: {input}\n\nAnswer: {output}"],
  ];
  const scored = await rule("Length of answers", { code_evaluators: [{ code: "answer-length" }] });
  const judged = await rule("Is the answer helpful?", {
    add_to_annotation_queue_id: queue,
    evaluators: [
      { structured: { prompt, model: { provider: "workers-ai", model: "@cf/meta/llama-3.1-8b-instruct" } } },
    ],
  });
  await rule("Failed traces to the ticket system", {
    is_enabled: false,
    sampling_rate: 0.25,
    filter: 'and(eq(is_root, true), eq(status, "error"))',
    webhooks: [{ url: "https://tickets.example.com/hook" }],
  });
  const day = 86_400_000;
  for (const { id } of [scored, judged])
    await call("POST", `/runs/rules/${id}/backfills`, { start_time: new Date(Date.now() - 7 * day).toISOString() });

  const alert = (name: string, more: object) =>
    call("POST", "/api/v1/alerts", { ...shared, name, window_minutes: 60, fire_after: 1, channels: [], ...more });
  const slack = { type: "slack", url: "https://hooks.slack.example/services/T0/B0/x" };
  const email = {
    type: "email",
    provider: "resend",
    api_key: "key",
    from: "alerts@example.com",
    to: ["ada@example.com", "grace@example.com"],
  };
  const firing = await alert("Many runs fail", { metric: "error_rate", threshold: 0.5, channels: [slack, email] });
  await alert("Answers are slow", { metric: "latency", threshold: 10, channels: [slack] });
  await alert("More than 20 cents an hour", { metric: "cost", threshold: 0.2 });
  await alert("Customers are unhappy", {
    metric: "feedback_score",
    feedback_key: "user_score",
    operator: "lt",
    threshold: 0.5,
  });
  const quiet = await alert("No runs come", { metric: "run_count", operator: "lt", threshold: 6, resolve_after: 1 });
  await nextMinute();
  await send(4);
  for (let i = 0; i < 3; i++) await nextMinute();
  const { id } = await alert("Nightly import", { metric: "tokens", threshold: 1_000_000, is_enabled: false });
  return { scored: scored.id, judged: judged.id, firing: firing.id, quiet: quiet.id, paused: id };
}
