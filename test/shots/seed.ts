/** What the pictures show: a workspace with threads and traces, some of which failed. And the pages, by name. */
import type { Page } from "playwright-core";
import { sendTrace } from "../support/sdk-trace.ts";
import type { Access } from "../support/server.ts";

export interface Shot {
  name: string;
  path: string;
  /** Done before the picture is taken. */
  before?: (page: Page) => Promise<void>;
}

export async function seed(server: Access): Promise<Shot[]> {
  const call = async (method: string, path: string, body?: unknown) => {
    const answer = await fetch(server.url + path, {
      method,
      headers: { ...server.headers, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`);
    const text = await answer.text();
    return (text === "" ? {} : JSON.parse(text)) as Record<string, string>;
  };
  const talk = async (assistant_id: string, content: string, owner: string) => {
    const { thread_id = "" } = await call("POST", "/threads", { metadata: { owner } });
    const input = { messages: [{ role: "user", content }] };
    await call("POST", `/threads/${thread_id}/runs/wait`, { assistant_id, input });
    return thread_id;
  };
  const first = await talk("agent", "What is 17 * 24?", "ada@example.com");
  await talk("agent", "And what is the square root of 1369, to four places?", "grace@example.com");
  await talk("approval", "Write to ada@example.com that the build is green", "ada@example.com");
  await talk("research", "Compare the two proposals for the new bridge over the river", "linus@example.com");
  await talk("actor", "fail", "grace@example.com");
  const trace = await sendTrace(server, { project: "support-agent", name: "refund_agent", text: "84.20 EUR refunded" });
  await sendTrace(server, {
    project: "support-agent",
    name: "a_rather_long_name_of_an_agent_that_somebody_gave_it",
    text: "TimeoutError: carrier_notices did not answer within 1.2 s\n    at fetchNotices (tools/carrier.ts:41)",
    failed: true,
  });
  const { assistant_id, cron_id, research } = await seedConsole(server, call);
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  const menu = async (page: Page) => {
    const button = page.getByRole("button", { name: /Open the menu|Show the threads/ });
    if ((await button.count()) > 0) await button.first().click();
    await page.waitForTimeout(300);
  };
  return [
    { name: "overview", path: "/" },
    { name: "chat-new", path: "/chat" },
    { name: "chat-thread", path: `/chat/${first}` },
    { name: "chat-menu", path: `/chat/${first}`, before: menu },
    { name: "traces", path: "/traces" },
    { name: "traces-menu", path: "/traces", before: menu },
    { name: "trace", path: `/traces/${trace}` },
    { name: "threads", path: "/console/threads" },
    { name: "traces-peek", path: "/traces", before: (page) => page.keyboard.press("j") },
    { name: "trace-timeline", path: `/traces/${trace}?view=timeline` },
    { name: "thread", path: `/console/threads/${first}` },
    { name: "experiments", path: "/console/experiments" },
    { name: "assistants", path: "/console/assistants" },
    { name: "assistant", path: `/console/assistants/${assistant_id}` },
    { name: "assistant-versions", path: `/console/assistants/${assistant_id}?tab=versions` },
    {
      name: "assistant-try",
      path: `/console/assistants/${research}?tab=try`,
      before: async (page) => {
        await page.getByLabel("Message").fill("Compare the two proposals for the new bridge over the river");
        await page.getByRole("button", { name: "Run", exact: true }).click();
        await page.getByText("The run ended.").waitFor({ timeout: 20_000 });
        await page.waitForTimeout(500);
      },
    },
    { name: "assistant-new", path: "/console/assistants/new" },
    { name: "runs", path: "/console/runs" },
    { name: "crons", path: "/console/crons" },
    { name: "cron", path: `/console/crons/${cron_id}` },
    { name: "cron-new", path: "/console/crons/new" },
    { name: "store", path: "/console/store" },
    { name: "store-item", path: "/console/store?in=users&in=ada&key=profile" },
    { name: "store-new", path: "/console/store?in=users&new=1" },
    {
      name: "palette",
      path: "/console/threads",
      before: async (page) => {
        await page.keyboard.press("Control+k");
        await page.getByRole("dialog").waitFor();
        await page.waitForTimeout(500);
      },
    },
    { name: "not-found", path: "/console/nothing" },
  ];
}

type Call = (method: string, path: string, body?: unknown) => Promise<Record<string, string>>;

/** What the pages of the console show: an assistant with versions, crons, items, and runs that wait. */
async function seedConsole({ url }: Access, call: Call) {
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
  const input = { messages: [{ role: "user", content: "Summarize what customers asked for yesterday." }] };
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
  return { assistant_id, cron_id: often.cron_id, research };
}
