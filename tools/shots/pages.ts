/** The pages of the pictures, by name. */
import type { Page } from "playwright-core";
import { showUnderWay } from "./admin.ts";
import type { Seeded } from "./seed.ts";

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
  ["datasets", "/console/datasets"],
  ["queues", "/console/queues"],
  ["experiments", "/console/experiments"],
  ["rules", "/console/rules"],
  ["alerts", "/console/alerts"],
  ["runs", "/console/runs"],
  ["crons", "/console/crons"],
  ["store", "/console/store"],
  ["exports", "/console/exports"],
  ["oauth", "/console/oauth"],
  ["webhooks", "/console/webhooks"],
  ["audit", "/console/audit"],
  ["usage", "/console/usage"],
] as const;

export function listShots(made: Seeded): Shot[] {
  const { threads, traces, cases, watched } = made;
  const menu = async (page: Page) => {
    const button = page.getByRole("button", { name: /Open the menu|Show the threads/ });
    if ((await button.count()) > 0) await button.first().click();
    await page.waitForTimeout(300);
  };
  return [
    { name: "overview", path: "/" },
    { name: "chat-new", path: "/chat" },
    { name: "chat-thread", path: `/chat/${threads.first}` },
    {
      name: "chat-answer",
      path: `/chat/${threads.written}`,
      before: (page) => page.getByRole("region", { name: "Diagram" }).waitFor(),
    },
    { name: "chat-menu", path: `/chat/${threads.first}`, before: menu },
    { name: "chat-waiting", path: `/chat/${threads.waiting}` },
    { name: "chat-edit", path: `/chat/${threads.waiting}`, before: (page) => clickNamed(page, "Edit") },
    { name: "chat-subagents", path: `/chat/${threads.compared}` },
    { name: "chat-failed", path: `/chat/${threads.broken}` },
    { name: "chat-not-found", path: `/chat/${crypto.randomUUID()}` },
    { name: "shortcuts", path: `/chat/${threads.first}`, before: (page) => page.keyboard.press("Shift+?") },
    { name: "traces", path: "/traces" },
    { name: "traces-menu", path: "/traces", before: menu },
    { name: "traces-no-match", path: "/traces?q=unicorn" },
    {
      name: "traces-fault",
      path: "/traces",
      before: async (page) => {
        await page.getByLabel("Words or a filter").fill('gt(latency "5s")');
        await clickNamed(page, "Search");
      },
    },
    { name: "trace", path: `/traces/${traces.trace}` },
    { name: "traces-peek", path: "/traces", before: (page) => page.keyboard.press("j") },
    { name: "trace-timeline", path: `/traces/${traces.trace}?view=timeline` },
    { name: "trace-graph", path: `/traces/${traces.trace}?view=graph` },
    { name: "trace-feedback", path: `/traces/${traces.trace}`, before: (page) => clickNamed(page, "Feedback") },
    { name: "trace-raw", path: `/traces/${traces.trace}`, before: (page) => clickNamed(page, "Raw") },
    { name: "trace-failed", path: `/traces/${traces.failed}` },
    { name: "trace-not-found", path: `/traces/${crypto.randomUUID()}` },
    { name: "threads", path: "/console/threads" },
    { name: "thread", path: `/console/threads/${threads.first}` },
    {
      name: "thread-edit",
      path: `/console/threads/${threads.first}`,
      before: (page) => clickNamed(page, "Edit state"),
    },
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
    { name: "experiments-new", path: `/console/experiments/new?dataset=${cases.dataset}` },
    { name: "datasets", path: "/console/datasets" },
    { name: "datasets-new", path: "/console/datasets/new" },
    { name: "dataset", path: `/console/datasets/${cases.dataset}` },
    {
      name: "dataset-example",
      path: `/console/datasets/${cases.dataset}`,
      before: (page) => press(page, "tbody button"),
    },
    { name: "queues", path: "/console/queues" },
    { name: "queues-new", path: "/console/queues/new" },
    { name: "queue", path: `/console/queues/${cases.queue}`, before: (page) => page.keyboard.press("2") },
    { name: "queue-completed", path: `/console/queues/${cases.queue}?tab=completed` },
    { name: "rules", path: "/console/rules" },
    { name: "rules-new", path: "/console/rules/new?example=helpful" },
    { name: "rule", path: `/console/rules/${watched.scored}` },
    { name: "rule-failed", path: `/console/rules/${watched.judged}` },
    {
      name: "rule-failure",
      path: `/console/rules/${watched.judged}`,
      before: (page) => press(page, '[aria-label="Failures"] tbody button'),
    },
    {
      name: "rule-backfill",
      path: `/console/rules/${watched.scored}`,
      before: (page) => clickNamed(page, "Apply to earlier runs"),
    },
    { name: "alerts", path: "/console/alerts" },
    {
      name: "alerts-new",
      path: "/console/alerts/new?example=slow",
      before: (page) => clickNamed(page, "Add channel"),
    },
    { name: "alert", path: `/console/alerts/${watched.firing}` },
    {
      name: "alert-tested",
      path: `/console/alerts/${watched.firing}`,
      before: (page) => clickNamed(page, "Test channels"),
    },
    { name: "score", path: `/traces/${traces.trace}`, before: (page) => clickNamed(page, "Score and comment") },
    {
      name: "add-to-dataset",
      path: `/traces/${traces.trace}`,
      before: async (page) => {
        await clickNamed(page, "Add to");
        await page.getByRole("menuitem", { name: "Add to dataset" }).click();
        await page.getByRole("dialog").waitFor();
      },
    },
    { name: "assistants", path: "/console/assistants" },
    { name: "assistant", path: `/console/assistants/${made.assistant_id}` },
    { name: "assistant-versions", path: `/console/assistants/${made.assistant_id}?tab=versions` },
    {
      name: "assistant-try",
      path: `/console/assistants/${made.research}?tab=try`,
      before: async (page) => {
        await page.getByLabel("Message").fill("Compare the two proposals for the new bridge over the river");
        await page.getByRole("button", { name: "Run", exact: true }).click();
        await page.getByText("The run ended.").waitFor({ timeout: 20_000 });
        await page.waitForTimeout(500);
      },
    },
    { name: "assistant-new", path: "/console/assistants/new" },
    { name: "prompts", path: "/console/prompts" },
    { name: "prompt", path: `/console/prompts/${made.prompt}` },
    { name: "playground", path: `/console/playground?prompt=${made.prompt}` },
    { name: "control", path: "/console/control" },
    { name: "runs", path: "/console/runs" },
    { name: "crons", path: "/console/crons" },
    { name: "cron", path: `/console/crons/${made.cron_id}` },
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
    { name: "exports-destination", path: `/console/exports?destination=${made.destination}` },
    { name: "export", path: `/console/exports/${made.exported}`, before: (page) => press(page, "[data-cell]") },
    { name: "export-running", path: `/console/exports/${made.exported}`, before: showUnderWay },
    { name: "export-schedule", path: `/console/exports/${made.schedule}` },
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
    { name: "members", path: "/console/members" },
    { name: "sign-in", path: "/", key: "" },
    { name: "sign-in-refused", path: "/", key: "wrong" },
    { name: "feedback", path: made.feedback, key: "" },
    { name: "feedback-expired", path: made.feedback.replace(/[^/]+$/, crypto.randomUUID()), key: "" },
    { name: "feedback-thanks", path: `${made.feedback}?score=1`, key: "" },
    { name: "consent-sign-in", path: made.consent, key: "" },
    {
      name: "consent",
      path: made.consent,
      key: "",
      before: async (page) => {
        await page.getByLabel("API key of the workspace").fill(made.key);
        await page.getByRole("button", { name: "Sign in" }).click();
        await page.getByRole("button", { name: "Allow" }).waitFor();
      },
    },
    {
      name: "consent-refused",
      path: made.consent.replace(/redirect_uri=[^&]+/, "redirect_uri=https://other.example/"),
      key: "",
    },
    ...EMPTY.map(([name, path]) => ({ name: `empty-${name}`, path, key: made.empty })),
  ];
}

async function press(page: Page, selector: string): Promise<void> {
  await page.locator(selector).first().click();
  await page.waitForTimeout(400);
}

async function clickNamed(page: Page, name: string): Promise<void> {
  await page.getByRole("button", { name, exact: true }).first().click();
  await page.waitForTimeout(400);
}
