/** What the pictures show: a workspace with threads and traces, some of which failed. And the pages, by name. */
import type { Page } from "playwright-core";
import { sendTrace } from "../support/sdk-trace.ts";
import type { Access } from "../support/server.ts";
import { callAs, exportDays, letIn, ownBucket, sendDays } from "../support/workspace.ts";

export interface Shot {
  name: string;
  path: string;
  /** Done before the picture is taken. */
  before?: (page: Page) => Promise<void>;
}

export async function seed(server: Access): Promise<Shot[]> {
  const call = (method: string, path: string, body?: unknown) =>
    callAs<Record<string, string>>(server, method, path, body);
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
    name: "a_rather_long_name_of_an_agent_that_its_user_gave_it",
    text: "TimeoutError: carrier_notices did not answer within 1.2 s\n    at fetchNotices (tools/carrier.ts:41)",
    failed: true,
  });
  const run = await adminOf(server);
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
  ];
}

async function press(page: Page, selector: string): Promise<void> {
  await page.locator(selector).first().click();
  await page.waitForTimeout(400);
}

/** Keys, applications, webhooks and exports. */
async function adminOf(server: Access) {
  const call = <T>(path: string, body: object) => callAs<T>(server, "POST", path, body);
  await call("/api/v1/api-keys", { name: "nightly export", scopes: ["read", "exports"], expires_at: null });
  await call("/api/v1/api-keys", {
    name: "support widget, production",
    scopes: ["read", "write"],
    expires_at: new Date(Date.now() + 40 * 86_400_000).toISOString(),
    allowed_ips: ["192.0.2.0/24"],
  });
  await letIn(server, "Field notes", "read");
  await letIn(server, "Desk assistant", "read write exports");
  await call("/api/v1/webhook-secrets", {});
  await call("/runs/crons", {
    assistant_id: "agent",
    schedule: "0 6 * * 1-5",
    input: { messages: [] },
    webhook: "https://hooks.example.com/weir/nightly-report",
  });
  const project = await sendDays(server, "support-agent", 40, (daysAgo) => (daysAgo % 7 < 5 ? 3 + (daysAgo % 4) : 0));
  const destination = await ownBucket(server, "Data lake", "weir/traces");
  const exported = await exportDays(server, destination, project, 40);
  const job = { bulk_export_destination_id: destination, session_id: project };
  const { id: schedule } = await call<{ id: string }>("/api/v1/bulk-exports", {
    ...job,
    start_time: new Date(Date.now() + 86_400_000).toISOString(),
    interval_hours: 24,
  });
  return { destination, exported, schedule };
}

/** Shows an export as it is in the middle: days that wait, run, failed and were tried again. */
async function underWay(page: Page): Promise<void> {
  await page.route(/\/bulk-exports\/[0-9a-f-]{36}$/, async (route) => {
    const job = await (await route.fetch()).json();
    const progress = { ...job.progress, runs_completed: 24, fraction: 0.6 };
    await route.fulfill({ json: { ...job, status: "RUNNING", finished_at: null, progress } });
  });
  await page.route(/\/bulk-exports\/.*\/runs\?/, async (route) => {
    const runs = await (await route.fetch()).json();
    const statuses = ["RUNNING", "RUNNING", "FAILED"];
    const changed = runs.map((run: object, i: number) => ({
      ...run,
      ...(i >= 24 && { status: statuses[i - 24] ?? "CREATED", finished_at: null }),
      ...((i === 5 || i === 26) && { retry_number: 2, errors: { retry_0: "SlowDown: Reduce your request rate." } }),
    }));
    await route.fulfill({ json: changed });
  });
  await page.reload();
  await page.locator('[data-status="FAILED"]').last().click();
  await page.waitForTimeout(400);
}
