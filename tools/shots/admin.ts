/** What the pictures of exports, keys, applications and webhooks show. */
import type { Page } from "playwright-core";
import type { Access } from "../../test/support/server.ts";
import { callAs, exportDays, letIn, ownBucket, sendDays } from "../../test/support/workspace.ts";

/** Keys, applications, webhooks and exports. */
export async function seedAdmin(server: Access) {
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
export async function showUnderWay(page: Page): Promise<void> {
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
