/** What the pictures of assistants, runs, crons and the Store show. */
import { Client } from "langsmith";
import type { Access } from "../../test/support/server.ts";

type Call = (method: string, path: string, body?: unknown) => Promise<Record<string, string>>;

/** What the pages of the console show: an assistant with versions, crons, items, and runs that wait. */
export async function seedConsole({ url, key }: Access, call: Call) {
  const { assistant_id } = await call("POST", "/assistants", {
    graph_id: "agent",
    name: "Refund desk",
    description: "Answers customers who want their money back.",
    context: { model: "demo" },
  });
  await call("PATCH", `/assistants/${assistant_id}`, {
    context: { model: "demo", system_prompt: "Be brief and kind." },
  });
  await call("PATCH", `/assistants/${assistant_id}`, {
    name: "Refund desk, careful",
    context: { model: "demo", system_prompt: "Be brief and kind. Ask a person before a refund above 50 EUR." },
    config: { recursion_limit: 40, tags: ["support"] },
  });
  const { assistant_id: research } = await call("GET", "/assistants/research");
  const input = { messages: [{ role: "user", content: "Summarize the questions of yesterday's customers." }] };
  const cron = { input, timezone: "Europe/Berlin", on_run_completed: "keep" };
  await call("POST", "/runs/crons", { ...cron, assistant_id: research, schedule: "0 6 * * 1" });
  const paused = await call("POST", "/runs/crons", { ...cron, assistant_id: "agent", schedule: "*/15 8-18 * * *" });
  await call("PATCH", `/runs/crons/${paused.cron_id}`, { enabled: false });
  await call("POST", "/runs/crons", { ...cron, assistant_id, schedule: "0 9 * * 1-5" });
  const fails = { assistant_id: "actor", input: { messages: [{ role: "user", content: "fail" }] } };
  await call("POST", "/runs/crons", { ...cron, ...fails, schedule: "* * * * *" });
  const often = await call("POST", "/runs/crons", { ...cron, assistant_id, schedule: "* * * * *" });
  // The clock of the next minutes, and of one later, which sees how the runs ended.
  for (let minute = 1; minute <= 8; minute++) {
    await fetch(`${url}/cdn-cgi/handler/scheduled?time=${Date.now() + minute * 60_000}`);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  const { thread_id } = await call("POST", "/threads", { metadata: { title: "Refund for order 1182" } });
  const run = { assistant_id: "agent", input, multitask_strategy: "enqueue" };
  await call("POST", `/threads/${thread_id}/runs`, { ...run, after_seconds: 3600 });
  const busy = await call("POST", "/threads", { metadata: { title: "Nightly import of the catalogue" } });
  const forever = { assistant_id: "actor", input: { messages: [{ role: "user", content: "forever" }] } };
  for (let n = 0; n < 3; n++) await call("POST", `/threads/${busy.thread_id}/runs`, forever);
  const items: [string[], string, object][] = [
    [["users", "ada"], "profile", { name: "Ada", city: "Turin", likes: ["chess", "mountains"] }],
    [["users", "ada"], "tone", { text: "Prefers short answers with a source." }],
    [["users", "grace", "projects"], "compiler", { text: "Writes a compiler; knows COBOL well." }],
    [["users", "linus"], "profile", { name: "Linus", city: "Portland" }],
    [["knowledge", "refunds"], "limit", { text: "Refunds above 50 EUR need a person.", limit_eur: 50 }],
    [["knowledge", "shipping"], "carriers", { carriers: ["north", "lowland"], updated: "2026-11-02" }],
  ];
  for (const [namespace, key, value] of items) await call("PUT", "/store/items", { namespace, key, value });
  const prompt = "refund-answers";
  const client = new Client({ apiUrl: url, apiKey: key });
  for (const rule of ["Be brief.", "Be brief. Name the date of the refund."])
    await client.pushPrompt(prompt, {
      object: buildPrompt(rule),
      description: "Answers about refunds",
      commitDescription: rule,
    });
  return { prompt, assistant_id, cron_id: often.cron_id, research };
}

/** A prompt as LangChain serializes it. */
function buildPrompt(rule: string): object {
  const line = (kind: string, template: string) => ({
    id: [`${kind}MessagePromptTemplate`],
    kwargs: { prompt: { id: ["PromptTemplate"], kwargs: { template, template_format: "mustache" } } },
  });
  const messages = [line("System", `You answer customers of {{shop}}. ${rule}`), line("Human", "{{question}}")];
  return { id: ["ChatPromptTemplate"], kwargs: { messages } };
}
