/** What the pictures show: a workspace with threads and traces, some of which failed. And the pages, by name. */
import type { Page } from "playwright-core";
import { sendTrace } from "../support/sdk-trace.ts";
import { adminOf, underWay } from "./admin.ts";
import { ANSWER } from "./answer.ts";
import { seedConsole } from "./console.ts";
import { sendExperiments } from "../support/experiments.ts";
import type { TestServer } from "../support/server.ts";
import { asksAt, callAs, threadSaying } from "../support/workspace.ts";

export interface Shot {
  name: string;
  path: string;
  /** The API key of the tab; that of the seeded workspace if left out. An empty one: signed out. */
  key?: string;
  /** Done before the picture is taken. */
  before?: (page: Page) => Promise<void>;
}

/** Pages of a workspace in which nothing has happened yet. */
const EMPTY = [
  ["overview", "/"],
  ["traces", "/traces"],
  ["threads", "/console/threads"],
  ["experiments", "/console/experiments"],
  ["runs", "/console/runs"],
  ["crons", "/console/crons"],
  ["store", "/console/store"],
  ["exports", "/console/exports"],
  ["oauth", "/console/oauth"],
  ["webhooks", "/console/webhooks"],
  ["audit", "/console/audit"],
  ["usage", "/console/usage"],
] as const;

export async function seed(server: TestServer): Promise<Shot[]> {
  const call = (method: string, path: string, body?: unknown) =>
    callAs<Record<string, string>>(server, method, path, body);
  const talk = async (assistant_id: string, content: string, owner: string) => {
    const { thread_id = "" } = await call("POST", "/threads", { metadata: { owner } });
    const input = { messages: [{ role: "user", content }] };
    await call("POST", `/threads/${thread_id}/runs/wait`, { assistant_id, input });
    return thread_id;
  };
  // The newest project is the one that the traces show first.
  await sendExperiments(server);
  const first = await talk("agent", "What is 17 * 24?", "ada@example.com");
  await talk("agent", "And what is the square root of 1369, to four places?", "grace@example.com");
  await talk("approval", "Write to ada@example.com that the build is green", "ada@example.com");
  await talk("research", "Compare the two proposals for the new bridge over the river", "linus@example.com");
  await talk("actor", "fail", "grace@example.com");
  const trace = await sendTrace(server, { project: "support-agent", name: "refund_agent", text: "84.20 EUR refunded" });
  await sendTrace(server, {
    project: "support-agent",
    name: "a_rather_long_name_of_an_agent_that_its_user_gave_it",
    text: "TimeoutError: carrier_notices did not answer within 1.2 s\n    at fetchNotices (tools/carrier.ts:41)",
    failed: true,
  });
  const { assistant_id, cron_id, research } = await seedConsole(server, call);
  const run = await adminOf(server);
  const written = await threadSaying(server, ANSWER);
  const { address } = await asksAt(server, "Field notes", "read write");
  const consent = address.pathname + address.search;
  const { key: empty } = await server.another();
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
    {
      name: "chat-answer",
      path: `/chat/${written}`,
      before: (page) => page.getByRole("region", { name: "Diagram" }).waitFor(),
    },
    { name: "chat-menu", path: `/chat/${first}`, before: menu },
    { name: "traces", path: "/traces" },
    { name: "traces-menu", path: "/traces", before: menu },
    { name: "trace", path: `/traces/${trace}` },
    { name: "threads", path: "/console/threads" },
    { name: "traces-peek", path: "/traces", before: (page) => page.keyboard.press("j") },
    { name: "trace-timeline", path: `/traces/${trace}?view=timeline` },
    { name: "thread", path: `/console/threads/${first}` },
    { name: "experiments", path: "/console/experiments" },
    {
      name: "experiments-compare",
      path: "/console/experiments",
      before: async (page) => {
        for (const box of await page.getByRole("checkbox", { name: /^Compare/ }).all()) await box.check();
        await page.getByRole("button", { name: "Compare 2" }).click();
        await page.getByRole("table", { name: "Comparison" }).waitFor();
      },
    },
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
    { name: "exports", path: "/console/exports" },
    { name: "exports-new", path: "/console/exports/new" },
    { name: "exports-new-destination", path: "/console/exports/new-destination" },
    { name: "exports-destination", path: `/console/exports?destination=${run.destination}` },
    { name: "export", path: `/console/exports/${run.exported}`, before: (page) => press(page, "[data-cell]") },
    { name: "export-running", path: `/console/exports/${run.exported}`, before: underWay },
    { name: "export-schedule", path: `/console/exports/${run.schedule}` },
    { name: "keys", path: "/console/keys" },
    { name: "keys-new", path: "/console/keys/new" },
    { name: "keys-key", path: "/console/keys", before: (page) => press(page, "tbody a") },
    { name: "oauth", path: "/console/oauth" },
    { name: "oauth-client", path: "/console/oauth", before: (page) => press(page, "tbody a") },
    { name: "webhooks", path: "/console/webhooks" },
    { name: "webhooks-secret", path: "/console/webhooks/new", before: (page) => press(page, "form [type=submit]") },
    { name: "audit", path: "/console/audit" },
    { name: "audit-entry", path: "/console/audit", before: (page) => press(page, "tbody a") },
    { name: "usage", path: "/console/usage" },
    { name: "sign-in", path: "/", key: "" },
    { name: "consent-sign-in", path: consent, key: "" },
    {
      name: "consent",
      path: consent,
      key: "",
      before: async (page) => {
        await page.getByLabel("API key of the workspace").fill(server.key);
        await page.getByRole("button", { name: "Sign in" }).click();
        await page.getByRole("button", { name: "Allow" }).waitFor();
      },
    },
    ...EMPTY.map(([name, path]) => ({ name: `empty-${name}`, path, key: empty })),
  ];
}

async function press(page: Page, selector: string): Promise<void> {
  await page.locator(selector).first().click();
  await page.waitForTimeout(400);
}
