import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { localR2 } from "../support/object-stores.ts";
import { sharedServer } from "../support/shared-server.ts";
import { callAs, exportDays, ownBucket, sendDays } from "../support/workspace.ts";
import {
  browserHere,
  expectFacts,
  expectNoSidewaysScroll,
  findings,
  findingsInBothThemes,
  waitForFocus,
  onStage,
  PHONE,
  visit,
} from "./page.ts";

const JOB = /\/bulk-exports\/[0-9a-f-]{36}$/;
const RUNS = /\/bulk-exports\/.*\/runs\?/;

describe.runIf(browserHere)("exports in the browser", () => {
  const stage = onStage(() => sharedServer());
  let made: Promise<{ destination: string; project: string; job: string }> | undefined;

  /** A project with traces of 12 days, on a complete export. */
  const exportOnce = () =>
    (made ??= (async () => {
      const project = await sendDays(stage.server, "shop", 12);
      const destination = await ownBucket(stage.server, "Own bucket", "first");
      return { destination, project, job: await exportDays(stage.server, destination, project, 12) };
    })());

  /** Shows the export as it is in the middle: days wait, run, have failed and were tried again. */
  async function showUnderWay(page: Page): Promise<void> {
    await page.route(JOB, async (route) => {
      const job = (await (await route.fetch()).json()) as { progress: object };
      const progress = { ...job.progress, runs_completed: 8, fraction: 8 / 12 };
      await route.fulfill({ json: { ...job, status: "RUNNING", finished_at: null, progress } });
    });
    await page.route(RUNS, async (route) => {
      const runs = (await (await route.fetch()).json()) as object[];
      const errors = { retry_0: "SlowDown: Reduce your request rate." };
      const statuses = ["RUNNING", "FAILED", "CREATED", "CREATED"];
      const changed = runs.map((run, i) => ({
        ...run,
        ...(i >= 8 && { status: statuses[i - 8], finished_at: null }),
        ...(i === 9 && { retry_number: 1, errors }),
      }));
      await route.fulfill({ json: changed });
    });
  }

  it("leads from nothing to a destination, which is tried out first and never shows its secret", async () => {
    const { endpoint, bucket, accessKeyId, secretAccessKey } = localR2(stage.server.url);
    const { page, troubles, close } = await visit(stage, { path: "/console/exports" });
    await page.getByText("No exports yet.").waitFor();
    expect(await findings(page)).toEqual([]);
    await page.getByRole("button", { name: "New destination" }).click();
    await page.waitForURL("**/console/exports/new-destination");
    const dialog = page.getByRole("dialog", { name: "New destination" });
    await waitForFocus(page, dialog.getByLabel("Provider"));
    await dialog.getByRole("button", { name: "Check and create" }).click();
    await dialog.getByText("Name the bucket.").waitFor();
    await dialog.getByLabel("Provider").selectOption({ label: "Other store with the S3 API" });
    await dialog.getByLabel("Name").fill("Lake");
    await dialog.getByLabel("Endpoint").fill(endpoint);
    await dialog.getByLabel("Bucket").fill(bucket);
    await dialog.getByLabel("Folder").fill("lake");
    await dialog.getByLabel("Access key id").fill(accessKeyId);
    await dialog.getByLabel("Secret access key").fill("not-the-secret");
    expect(await findings(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Check and create" }).click();
    await dialog.getByRole("alert").getByText("SignatureDoesNotMatch").waitFor();
    await dialog.getByLabel("Secret access key").fill(secretAccessKey);
    await dialog.getByRole("button", { name: "Check and create" }).click();

    const lake = page.getByRole("dialog", { name: "Lake" });
    await lake.getByText(`s3://${bucket}/lake`).waitFor();
    await lake.getByText("access_key_id, secret_access_key (set)").waitFor();
    expect(await page.content()).not.toContain(secretAccessKey);
    await lake.getByRole("button", { name: "Check now" }).click();
    await lake.getByText("Can be written to.").waitFor();
    expect(await findings(page)).toEqual([]);
    await page.route("**/check", (route) => route.fulfill({ status: 400, json: { detail: "AccessDenied: No." } }));
    await lake.getByRole("button", { name: "Check now" }).click();
    await lake.getByRole("alert").getByText("AccessDenied: No.").waitFor();
    expect(await lake.getByText("Can be written to.").count()).toBe(0);

    await lake.getByRole("button", { name: "Change credentials…" }).click();
    const change = page.getByRole("dialog", { name: /New credentials/ });
    await change.getByLabel("Access key id").fill(accessKeyId);
    await change.getByLabel("Secret access key").fill(secretAccessKey);
    await change.getByRole("button", { name: "Check and save" }).click();
    await change.waitFor({ state: "detached" });
    await lake.getByRole("button", { name: "Delete…" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Delete destination" }).click();
    await page.getByRole("row", { name: /Lake/ }).waitFor({ state: "detached" });
    await page.waitForURL("**/console/exports");
    expect(troubles).toEqual([]);
    await close();
  });

  it("does not name a destination deleted while the destinations load", async () => {
    const { destination, project } = await exportOnce();
    await callAs(stage.server, "POST", "/api/v1/bulk-exports", {
      bulk_export_destination_id: destination,
      session_id: project,
      start_time: new Date(Date.now() + 86_400_000).toISOString(),
      interval_hours: 24,
    });
    const { page, close } = await visit(stage, { path: "/console/threads" });
    let load = () => {};
    const loading = new Promise<void>((resolve) => (load = resolve));
    await page.route(/bulk-exports\/destinations(\?|$)/, async (route) => {
      await loading;
      await route.continue();
    });
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Exports" }).click();
    const row = page.getByRole("table", { name: "Schedules" }).locator("tbody tr").first();
    await row.getByText("shop").waitFor();
    expect(await row.textContent()).not.toContain("deleted");
    load();
    await row.getByText("Own bucket").waitFor();
    await close();
  });

  it("creates an export and shows its days when it is done", async () => {
    await exportOnce();
    const { page, troubles, close } = await visit(stage, { path: "/console/exports" });
    await page
      .getByRole("table", { name: "Exports" })
      .getByRole("row", { name: /done shop.*12 of 12/ })
      .waitFor();
    await page.getByRole("button", { name: "New export" }).click();
    const dialog = page.getByRole("dialog", { name: "New export" });
    await dialog.getByLabel("Project").selectOption({ label: "shop" });
    const day = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
    await dialog.getByLabel("First day").fill(day(3));
    await dialog.getByLabel("Last day").fill(day(4));
    await dialog.getByText("The last day is before the first.").waitFor();
    await dialog.getByLabel("Last day").fill(day(1));
    await dialog.getByLabel("Filter").fill("eq(");
    await dialog.getByRole("button", { name: "Create export" }).click();
    await dialog.getByRole("alert").waitFor();
    await dialog.getByLabel("Filter").fill('eq(run_type, "llm")');
    await dialog.getByRole("button", { name: "Create export" }).click();
    await page.getByRole("heading", { level: 1, name: "Export of shop" }).waitFor();
    await page.getByText("3 of 3").waitFor();
    expect(await page.locator("[data-cell]").count()).toBe(3);
    await page.getByText('eq(run_type, "llm")').waitFor();
    expect(await page.getByRole("button", { name: "Cancel…" }).count()).toBe(0);
    expect(troubles).toEqual([]);
    await close();
  });

  it("shows each day of an export that is under way", async () => {
    const { job } = await exportOnce();
    const { page, troubles, close } = await visit(stage, { path: "/console/exports" });
    await showUnderWay(page);
    await page.goto(`${stage.server.url}/console/exports/${job}`);
    const cells = page.locator("[data-cell]");
    await cells.nth(11).waitFor();
    await page.getByText("8 of 12").waitFor();
    for (const text of ["2 waiting", "1 running", "8 done", "1 failed", "1 retried"])
      await page.getByText(text, { exact: true }).waitFor();
    expect(await findingsInBothThemes(page)).toEqual([]);

    // One cell is reached by tab, the others by arrows.
    expect(await page.locator('[data-cell][tabindex="0"]').count()).toBe(1);
    await cells.first().focus();
    await page.keyboard.press("End");
    await waitForFocus(page, cells.nth(11));
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("ArrowLeft");
    await waitForFocus(page, cells.nth(9));
    await page.keyboard.press("Enter");
    const day = page.getByRole("region", { name: /^Day / });
    await day.getByText("attempt 1: SlowDown: Reduce your request rate.").waitFor();
    expect(await findingsInBothThemes(page)).toEqual([]);
    await page.getByRole("button", { name: "Show as table" }).click();
    const table = page.getByRole("table", { name: "Days" });
    await table.getByRole("row", { name: /failed.*2$/ }).waitFor();
    await table.getByRole("row", { name: /done/ }).first().click();
    await day.getByText("part-00000.parquet").waitFor();
    await page.getByText(`first/export_id=${job}/**/*.parquet`).waitFor();
    expect(await findingsInBothThemes(page)).toEqual([]);
    expect(troubles).toEqual([]);
    await close();
  });

  it("asks before it cancels a schedule, and shows that it is cancelled", async () => {
    const { destination, project } = await exportOnce();
    const { id } = await callAs<{ id: string }>(stage.server, "POST", "/api/v1/bulk-exports", {
      bulk_export_destination_id: destination,
      session_id: project,
      start_time: new Date(Date.now() + 86_400_000).toISOString(),
      interval_hours: 6,
    });
    const { page, close } = await visit(stage, { path: "/console/exports" });
    const schedules = page.getByRole("table", { name: "Schedules" });
    await schedules.getByRole("row", { name: /active shop every 6 hours/ }).click();
    await page.waitForURL(`**/console/exports/${id}`);
    await page.getByText("The schedule has made no export yet.").waitFor();
    await page.getByText("QUALIFY row_number()").waitFor();
    await page.getByRole("button", { name: "Cancel…" }).click();
    const asked = page.getByRole("alertdialog", { name: "Cancel this schedule?" });
    await asked.getByRole("button", { name: "Go back" }).click();
    await waitForFocus(page, page.getByRole("button", { name: "Cancel…" }));
    await page.getByRole("button", { name: "Cancel…" }).click();
    await asked.getByRole("button", { name: "Cancel schedule" }).click();
    await page.getByText("cancelled").waitFor();
    expect(await page.getByRole("button", { name: "Cancel…" }).count()).toBe(0);
    await page.getByRole("link", { name: "Exports" }).first().click();
    await schedules.getByRole("row", { name: /cancelled shop/ }).waitFor();
    await close();
  });

  it("says what to do where an export is not there, or no answer comes", async () => {
    const { page, close } = await visit(stage, { path: `/console/exports/${crypto.randomUUID()}` });
    await page.getByRole("alert").getByText("It may have been deleted.").waitFor();
    await page.route("**/bulk-exports?*", (route) => route.fulfill({ status: 403, json: { detail: "No scope." } }));
    await page.goto(`${stage.server.url}/console/exports`);
    await page.getByRole("alert").getByText("Use a key or an account that has the scope named above.").waitFor();
    expect(await findings(page)).toEqual([]);
    await close();
  });

  it("fits a phone", async () => {
    const { job } = await exportOnce();
    const { page, close } = await visit(stage, { ...PHONE, path: "/console/exports" });
    const facts = /Days done: \d+ of \d+ days.*Size: .*B.*Created: /;
    await expectFacts(page.getByRole("row", { name: /done shop/ }).first(), facts);
    await expectNoSidewaysScroll(page);
    expect(await findings(page)).toEqual([]);
    await page.getByRole("button", { name: "New export" }).tap();
    await page.getByRole("dialog", { name: "New export" }).getByLabel("Project").waitFor();
    await expectNoSidewaysScroll(page);
    await page.goto(`${stage.server.url}/console/exports/${job}`);
    await page.locator("[data-cell]").first().tap();
    await page.getByRole("region", { name: /^Day / }).waitFor();
    await expectNoSidewaysScroll(page);
    expect(await findings(page)).toEqual([]);
    await close();
  });
});
