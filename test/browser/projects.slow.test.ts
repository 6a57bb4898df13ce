/** Projects of a workspace that has more than a hundred: each can be found and chosen. */
import { describe, expect, it } from "vitest";
import { sendTrace } from "../support/sdk-trace.ts";
import { sharedServer } from "../support/shared-server.ts";
import { browserHere, onStage, visit } from "./page.ts";

describe.runIf(browserHere)("more than a hundred projects in the browser", () => {
  const stage = onStage(() => sharedServer("graphs"));

  it("are found by their names, in the list of traces and in forms", { timeout: 120_000 }, async () => {
    await sendTrace(stage.server, { project: "support-agent", name: "the one", text: "fine", failed: false });
    const headers = { ...stage.server.headers, "content-type": "application/json" };
    // The others have newer runs.
    for (let n = 0; n < 105; n++)
      await sendTrace(stage.server, { project: `experiment-${n}`, name: "run", text: "fine", failed: false });
    const found = await fetch(`${stage.server.url}/api/v1/sessions?name=support-agent`, { headers });
    const [{ id }] = await found.json<[{ id: string }]>();
    const { page, troubles, close } = await visit(stage, { path: "/traces" });
    const select = page.getByRole("combobox", { name: "Project" });
    await page.getByRole("searchbox", { name: "Find a project" }).fill("support");
    await select.getByRole("option", { name: "support-agent" }).waitFor({ state: "attached" });
    await select.selectOption("support-agent");
    await page.getByRole("table", { name: "Traces" }).getByText("the one").first().waitFor();
    await page.reload();
    await select.locator("option:checked", { hasText: "support-agent" }).waitFor({ state: "attached" });
    expect(page.url()).toContain(id);
    await page.goto(`${stage.server.url}/console/alerts/new`);
    await page.getByRole("searchbox", { name: "Find a project" }).fill("support");
    await page
      .getByRole("combobox", { name: "Project" })
      .getByRole("option", { name: "support-agent" })
      .waitFor({ state: "attached" });
    expect(troubles).toEqual([]);
    await close();
  });
});
