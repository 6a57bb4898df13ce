/** One of everything that a view of the page lists, so that each view has its buttons. */
import { Client } from "langsmith";
import { seedCases } from "../../tools/shots/cases.ts";
import { sendExperiments } from "../support/experiments.ts";
import type { TestServer } from "../support/server.ts";
import { callAs } from "../support/workspace.ts";

export type Made = Awaited<ReturnType<typeof makeOneOfEach>>;

export async function makeOneOfEach(server: TestServer) {
  const call = <T = Record<string, string>>(method: string, path: string, body?: unknown) =>
    callAs<T>(server, method, path, body);
  const input = (content: string) => ({ messages: [{ role: "user", content }] });
  const talk = async (assistant_id: string, content: string, path = "runs/wait", more: object = {}) => {
    const { thread_id = "" } = await call("POST", "/threads", {});
    await call("POST", `/threads/${thread_id}/${path}`, { assistant_id, input: input(content), ...more });
    return thread_id;
  };
  await sendExperiments(server);
  const [compared] = await call<{ id: string }[]>("GET", "/api/v1/datasets?name=questions");
  const { dataset, queue } = await seedCases(server);
  const thread = await talk("agent", "What is 17 * 24?");
  const failed = await talk("actor", "fail");
  const waiting = await talk("approval", "Write to ada@example.com that the build is green");
  const queued = await talk("agent", "Later", "runs", { after_seconds: 3_600 });
  await talk("agent", "Later, too", "runs", { after_seconds: 3_600 });
  const [run] = await call<{ run_id: string }[]>("GET", `/threads/${thread}/runs`);

  const assistant = await call("POST", "/assistants", { graph_id: "agent", name: "Desk", context: {} });
  await call("PATCH", `/assistants/${assistant.assistant_id}`, { name: "Desk, careful" });
  const cron = await call("POST", "/runs/crons", {
    assistant_id: "agent",
    schedule: "0 6 * * 1",
    input: input("Hi"),
    on_run_completed: "keep",
  });
  await call("PUT", "/store/items", { namespace: ["users", "ada"], key: "profile", value: { city: "Turin" } });
  await call("PUT", "/api/v1/flow/rules/one-each", { concurrency: 100 });
  await call("PUT", "/api/v1/budgets/mine", { per: "run", dollars: 100 });

  const [project] = await call<{ id: string }[]>("GET", "/api/v1/sessions?name=support-review");
  const rule = await call("POST", "/runs/rules", {
    session_id: project?.id,
    display_name: "length",
    sampling_rate: 1,
    code_evaluators: [{ code: "answer-length" }],
  });
  const alert = await call("POST", "/api/v1/alerts", {
    session_id: project?.id,
    name: "Slow",
    metric: "latency",
    threshold: 10,
    window_minutes: 60,
    channels: [{ type: "slack", url: "https://hooks.slack.example/services/T0/B0/x" }],
  });
  const prompt = "refund-answers";
  const client = new Client({ apiUrl: server.url, apiKey: server.key });
  for (const template of ["Be brief.", "Be exact."])
    await client.pushPrompt(prompt, { object: { id: ["PromptTemplate"], kwargs: { template } }, commitTags: "prod" });
  return {
    compared: compared?.id,
    dataset,
    queue,
    thread,
    failed,
    waiting,
    queued,
    prompt,
    trace: run?.run_id,
    assistant: assistant.assistant_id,
    cron: cron.cron_id,
    rule: rule.id,
    alert: alert.id,
  };
}
