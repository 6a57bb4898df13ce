import { describe, expect, it } from "vitest";
import { sendExperiments } from "../support/experiments.ts";
import { sharedServer } from "../support/shared-server.ts";
import { browserHere, expectNoSidewaysScroll, findings, findingsInBothThemes, onStage, PHONE, visit } from "./page.ts";

describe.runIf(browserHere)("experiments in the browser", () => {
  const stage = onStage(() => sharedServer());
  let made: Promise<void> | undefined;
  const experiments = () => (made ??= sendExperiments(stage.server));

  it("teaches how to make one where there are none", async () => {
    const { page, close } = await visit(stage, { path: "/console/experiments" });
    await page.getByText("No experiments yet.").waitFor();
    await page.getByText(`LANGSMITH_ENDPOINT=${stage.server.url}`).waitFor();
    expect(await findings(page)).toEqual([]);
    await close();
  });

  it("compares two side by side, example by example", async () => {
    await experiments();
    const { page, troubles, close } = await visit(stage, { path: "/console/experiments" });
    const list = page.getByRole("table", { name: "Experiments of questions" });
    await list.getByRole("row", { name: /base-.*correct 1/ }).waitFor();
    expect(await page.getByRole("button", { name: "Compare", exact: true }).isDisabled()).toBe(true);
    await list.getByRole("checkbox", { name: /Compare base-/ }).check();
    await list.getByRole("checkbox", { name: /Compare next-/ }).check();
    expect(await findingsInBothThemes(page)).toEqual([]);
    await page.getByRole("button", { name: "Compare 2" }).click();
    const comparison = page.getByRole("table", { name: "Comparison" });
    await comparison.getByRole("columnheader", { name: /base-.*baseline/ }).waitFor();
    await comparison.getByRole("columnheader", { name: /next-.*−0\.333.*0 better, 1 worse/ }).waitFor();
    expect(await comparison.locator("tbody tr").count()).toBe(3);
    // What became worse comes first.
    expect(await comparison.locator("tbody tr").first().textContent()).toContain("mistaken");
    const worse = comparison.getByRole("row", { name: /two.*mistaken/ });
    await worse.getByText("correct 0, worse").waitFor();
    expect(await findingsInBothThemes(page)).toEqual([]);

    const baseline = page.getByLabel("Baseline");
    const [base, next] = await baseline.getByRole("option").allTextContents();
    await baseline.selectOption({ label: next });
    await comparison.getByRole("columnheader", { name: /next-.*baseline/ }).waitFor();
    await comparison.getByRole("columnheader", { name: /base-.*\+0\.333.*1 better, 0 worse/ }).waitFor();
    await baseline.selectOption({ label: base });
    await comparison.getByRole("columnheader", { name: /base-.*baseline/ }).waitFor();

    await page.getByLabel("Examples", { exact: true }).selectOption("regressed");
    await comparison.getByRole("row", { name: /three/ }).waitFor({ state: "detached" });
    await page.reload();
    await worse.waitFor();
    expect(await comparison.locator("tbody tr").count()).toBe(1);
    await worse
      .getByRole("link", { name: /^Trace/ })
      .last()
      .click();
    await page.waitForURL("**/traces/*");
    expect(troubles).toEqual([]);
    await close();
  });

  it("has the older one as the baseline when the newer one is chosen first", async () => {
    await experiments();
    const { page, close } = await visit(stage, { path: "/console/experiments" });
    const list = page.getByRole("table", { name: "Experiments of questions" });
    await list.getByRole("checkbox", { name: /Compare next-/ }).check();
    await list.getByRole("checkbox", { name: /Compare base-/ }).check();
    await list.getByRole("row", { name: /base-.*baseline/ }).waitFor();
    await page.getByText("The oldest is the baseline").waitFor();
    await page.getByRole("button", { name: "Compare 2" }).click();
    const comparison = page.getByRole("table", { name: "Comparison" });
    await comparison.getByRole("columnheader", { name: /base-.*baseline/ }).waitFor();
    await comparison.getByRole("columnheader", { name: /next-.*−0\.333.*0 better, 1 worse/ }).waitFor();
    expect(await comparison.locator("tbody tr").count()).toBe(3);
    await close();
  });

  it("compares those of the address that evaluate() prints", async () => {
    await experiments();
    const { url, headers } = stage.server;
    const sent = await fetch(`${url}/sessions?sort_by=name&sort_by_desc=false&reference_free=false`, { headers });
    const [base, next] = await sent.json<{ id: string; reference_dataset_id: string }[]>();
    const path = `/o/any/datasets/${base?.reference_dataset_id}/compare?selectedSessions=${base?.id},${next?.id}`;
    const { page, close } = await visit(stage, { path });
    const comparison = page.getByRole("table", { name: "Comparison" });
    await comparison.getByRole("columnheader", { name: /base-.*baseline/ }).waitFor();
    await page.getByLabel("Baseline").selectOption({ index: 1 });
    await comparison.getByRole("columnheader", { name: /next-.*baseline/ }).waitFor();
    await comparison.getByRole("columnheader", { name: /base-/ }).waitFor();
    expect(await comparison.locator("tbody tr").count()).toBe(3);
    await close();
  });

  it("fits a phone", async () => {
    await experiments();
    const { page, close } = await visit(stage, { ...PHONE, path: "/console/experiments" });
    await page.getByRole("row", { name: /base-/ }).waitFor();
    await expectNoSidewaysScroll(page);
    await page.getByRole("row", { name: /base-/ }).getByText("base-").click();
    await page.getByRole("table", { name: "Comparison" }).waitFor();
    await expectNoSidewaysScroll(page);
    expect(await findings(page)).toEqual([]);
    await close();
  });
});
