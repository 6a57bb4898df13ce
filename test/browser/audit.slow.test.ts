/** What happened in a workspace and what it holds: the audit log and usage. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { sharedServer } from "../support/shared-server.ts";
import { callAs, sendDays } from "../support/workspace.ts";
import {
  browserHere,
  checkEventually,
  expectFacts,
  expectNoSidewaysScroll,
  findings,
  findingsInBothThemes,
  onStage,
  PHONE,
  visit,
} from "./page.ts";

describe.runIf(browserHere)("the audit log and usage in the browser", () => {
  const stage = onStage(() => sharedServer());

  const newKey = (name: string) => callAs<{ id: string }>(stage.server, "POST", "/api/v1/api-keys", { name });

  it("filters by action, opens an entry, and is downloaded", async () => {
    const { id } = await newKey("noted key");
    await callAs(stage.server, "DELETE", `/api/v1/api-keys/${id}`);
    const { page, troubles, close } = await visit(stage, { path: "/console/audit" });
    const log = page.getByRole("table", { name: "Audit log" });
    await log.getByRole("row", { name: /Key revoked noted key local/ }).waitFor();
    await log.getByRole("row", { name: /Key created noted key local/ }).waitFor();
    expect(await findingsInBothThemes(page)).toEqual([]);
    await page.getByLabel("Action").selectOption({ label: "Key revoked" });
    await log
      .getByRole("row", { name: /Key created/ })
      .first()
      .waitFor({ state: "detached" });
    expect(page.url()).toContain("action=api_key.deleted");
    await log.getByRole("row", { name: /noted key/ }).click();
    const entry = page.getByRole("dialog", { name: "Key revoked" });
    await entry.getByText(id).waitFor();
    await entry.getByText("api_key.deleted").waitFor();
    expect(await findingsInBothThemes(page)).toEqual([]);
    await page.reload();
    await entry.getByText(id).waitFor();
    await page.keyboard.press("Escape");
    await page.waitForURL("**/console/audit?action=api_key.deleted");

    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download as NDJSON" }).click(),
    ]);
    const lines = readFileSync(await file.path(), "utf8")
      .trim()
      .split("\n");
    const actions = lines.map((line) => (JSON.parse(line) as { action: string }).action);
    expect(new Set(actions)).toEqual(new Set(["api_key.deleted"]));

    await page.getByLabel("Action").selectOption({ label: "Token used twice" });
    await page.getByText("No entry matches this filter.").waitFor();
    await page.getByRole("link", { name: "Show all actions" }).click();
    await log
      .getByRole("row", { name: /Key created/ })
      .first()
      .waitFor();
    expect(troubles).toEqual([]);
    await close();
  });

  it("reads on, and no entry appears twice when others are added between the pages", async () => {
    for (let i = 0; i < 120; i++) await newKey(`key ${i}`);
    const { page, close } = await visit(stage, { path: "/console/audit?action=api_key.created" });
    const rows = page.locator("tbody tr[data-key]");
    await rows.nth(99).waitFor();
    await newKey("added later");
    await page.getByRole("button", { name: "Show more" }).click();
    // Above a hundred rows only those in view are in the document, with the number of all in the table.
    await checkEventually(
      async () => Number(await page.getByRole("table").getAttribute("aria-rowcount")),
      (count) => expect(count).toBeGreaterThan(120),
    );
    const seen = new Set<string>();
    let keys: string[] = [];
    for (let y = 0; y < 6_000; y += 400) {
      await page.evaluate(`document.querySelector("#content").scrollTo(0, ${y})`);
      await page.waitForTimeout(50);
      keys = await rows.evaluateAll((all) => all.map((row) => row.getAttribute("data-key") ?? ""));
      expect(new Set(keys).size).toBe(keys.length);
      for (const key of keys) seen.add(key);
    }
    expect(seen.size).toBe(Number(await page.getByRole("table").getAttribute("aria-rowcount")) - 1);
    await close();
  });

  it("tells a time without entries from an entry that is not there", async () => {
    const { page, close } = await visit(stage, {
      path: "/console/audit?from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z",
    });
    await page.getByText("No entries in this time range.").waitFor();
    expect(await findings(page)).toEqual([]);
    await page.goto(`${stage.server.url}/console/audit/${crypto.randomUUID()}`);
    await page.getByRole("dialog", { name: "No entry with this id" }).waitFor();
    await close();
  });

  it("says what usage there is before anything is stored", async () => {
    const { page, close } = await visit(stage, { path: "/console/usage" });
    await page.getByText("No traces were stored in this time range.").waitFor();
    await page.getByText("No model was called in this time range.").waitFor();
    await page.getByText(`${stage.server.url}/api/v1/usage`).waitFor();
    expect(await findings(page)).toEqual([]);
    await close();
  });

  it("shows what is held and what models cost", async () => {
    await sendDays(stage.server, "shop-one", 10, () => 2);
    const { page, troubles, close } = await visit(stage, { path: "/console/usage?range=30d" });
    const models = page.getByRole("table", { name: "Cost by model" });
    await models.getByRole("row", { name: /gpt-4o-mini/ }).waitFor();
    await page
      .getByRole("img", { name: /Cost by day/ })
      .locator("canvas")
      .waitFor();
    expect(await findingsInBothThemes(page)).toEqual([]);
    // The first day of a month has no pace.
    const end = new Date().getUTCDate() > 1 ? ", about \\$[\\d.]+ by its end at the pace of the last days" : "";
    await page.getByText(new RegExp(`^\\w+ \\d{4}: \\$[\\d.]+ so far${end}\\.$`)).waitFor();
    const projects = page.getByRole("table", { name: "Usage by project" });
    await projects.getByRole("row", { name: /shop-one 40/ }).waitFor();
    const plot = page.getByRole("img", { name: /Cost by day/ }).locator(".u-over");
    await plot.hover();
    await page
      .locator("figcaption", { hasText: "Cost by day" })
      .getByText(/^cost\$/)
      .waitFor();
    await page.getByRole("button", { name: "Show as table" }).click();
    const days = page.getByRole("table", { name: "Stored by day" });
    await days.getByRole("row").nth(30).waitFor();
    await page.getByRole("button", { name: "Show cost as table" }).click();
    await page.getByRole("table", { name: "Cost by day" }).getByRole("row", { name: /\$0/ }).first().waitFor();
    expect(await findingsInBothThemes(page)).toEqual([]);
    await page.getByLabel("Time range").selectOption("24h");
    await page.waitForURL("**/console/usage");
    await projects.getByRole("row", { name: /shop-one 8/ }).waitFor();
    await page.reload();
    await projects.getByRole("row", { name: /shop-one 8/ }).waitFor();
    await projects.getByRole("link", { name: "shop-one" }).click();
    await page.waitForURL("**/traces?project=*");
    expect(troubles).toEqual([]);
    await close();
  });

  it.each(["audit", "usage"])("fits a phone: %s", async (name) => {
    await sendDays(stage.server, "phone", 2);
    const { page, close } = await visit(stage, { ...PHONE, path: `/console/${name}` });
    await page.getByRole("table").first().waitFor();
    if (name === "usage") {
      const models = page.getByRole("table", { name: "Cost by model" });
      await expectFacts(models.getByRole("row", { name: /gpt-4o-mini/ }), /Calls: [\d,]+ calls?.*Tokens in: [\d,]+ in/);
    }
    await expectNoSidewaysScroll(page);
    expect(await findings(page)).toEqual([]);
    await close();
  });
});
