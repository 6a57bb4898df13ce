import { describe, expect, it } from "vitest";
import { sharedServer } from "../support/shared-server.ts";
import { browserHere, expectNoSidewaysScroll, findings, findingsInBothThemes, onStage, PHONE, visit } from "./page.ts";

describe.runIf(browserHere)("runs in the browser", () => {
  const stage = onStage(() => sharedServer("graphs"));

  async function call<T = Record<string, string>>(path: string, body: unknown): Promise<T> {
    const headers = { ...stage.server.headers, "content-type": "application/json" };
    const answer = await fetch(stage.server.url + path, { method: "POST", headers, body: JSON.stringify(body) });
    expect(answer.status).toBeLessThan(300);
    const text = await answer.text();
    return (text === "" ? {} : JSON.parse(text)) as T;
  }

  const createRunBody = (content: string) => ({
    assistant_id: "actor",
    input: { messages: [{ role: "user", content }] },
  });

  /** A thread with a run that does not end by itself, and two that wait behind it. */
  async function busyThread(title: string): Promise<string> {
    const { thread_id = "" } = await call("/threads", { metadata: { title } });
    for (let n = 0; n < 3; n++) await call(`/threads/${thread_id}/runs`, createRunBody("forever"));
    return thread_id;
  }

  const stopAll = () => call("/runs/cancel", { status: "all" });

  it("teaches where nothing has run", async () => {
    const { page, close } = await visit(stage, { path: "/console/runs" });
    await page.getByText("Nothing runs or waits now.").waitFor();
    await page.getByText("No run failed.").waitFor();
    await page.getByText(`curl ${stage.server.url}/runs`).waitFor();
    expect(await findings(page)).toEqual([]);
    await close();
  });

  it("shows what runs and waits as it changes, and cancels it", async () => {
    const { page, troubles, close } = await visit(stage, { path: "/console/runs" });
    await page.getByText("Nothing runs or waits now.").waitFor();
    const title = "Import";
    const thread = await busyThread(title);
    const running = page.getByRole("table", { name: "Running" });
    const queued = page.getByRole("table", { name: "Queued" });
    // Its only attempt, and what the next one waits for.
    await running.getByRole("row", { name: new RegExp(`${title} actor request 1 `) }).waitFor();
    await queued.getByRole("row", { name: new RegExp(`1 in line ${title} actor request the run before it`) }).waitFor();
    await queued.getByRole("row", { name: /2 in line/ }).waitFor();
    expect(await findingsInBothThemes(page)).toEqual([]);
    expect(await running.getByRole("link", { name: title }).getAttribute("href")).toBe(`/chat/${thread}`);

    await running.getByRole("button", { name: /^Cancel/ }).click();
    await queued.getByRole("row", { name: /2 in line/ }).waitFor({ state: "detached" });
    await queued.getByRole("button", { name: /^Cancel/ }).click();
    await page.getByText("No run waits.").waitFor();
    await stopAll();
    await page.getByText("Nothing runs or waits now.").waitFor();
    expect(troubles).toEqual([]);
    await close();
  });

  it("asks before all that waits is cancelled, and running runs continue", async () => {
    await busyThread("Many");
    const { page, close } = await visit(stage, { path: "/console/runs" });
    await page.getByRole("button", { name: "Cancel all queued" }).click();
    const dialog = page.getByRole("alertdialog");
    expect(await findings(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Go back" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("row", { name: /2 in line/ }).waitFor();
    await page.getByRole("button", { name: "Cancel all queued" }).click();
    await dialog.getByRole("button", { name: "Cancel all queued" }).click();
    await page.getByText("No run waits.").waitFor();
    const running = page.getByRole("table", { name: "Running" }).locator("tbody tr");
    await expect.poll(async () => running.count()).toBe(1);
    await stopAll();
    await close();
  });

  it("lists those that just failed, and leads to the finished ones in Traces with range and assistant", async () => {
    for (const content of ["say something", "fail", "ask"]) {
      const { thread_id } = await call("/threads", {});
      await call(`/threads/${thread_id}/runs/wait`, createRunBody(content));
    }
    const { thread_id } = await call("/threads", {});
    await call(`/threads/${thread_id}/runs/wait`, { ...createRunBody("by another"), assistant_id: "echo" });
    const { page, troubles, close } = await visit(stage, { path: "/console/runs?range=7d" });
    const failed = page.getByRole("table", { name: "Failed" });
    const row = failed.getByRole("row", { name: /^failed actor Error: It broke.* 1 .*now/ }).first();
    await row.waitFor();
    expect(await failed.getByRole("row", { name: /success|waiting|interrupted/ }).count()).toBe(0);
    expect(await page.getByRole("table", { name: "Finished" }).count()).toBe(0);
    expect(await findings(page)).toEqual([]);
    const assistants = page.getByLabel("Assistant", { exact: true });
    await assistants.selectOption({ label: "echo" });
    await page.getByText("No run failed.").waitFor();
    await page.reload();
    await page.getByText("No run failed.").waitFor();
    await assistants.selectOption({ label: "actor" });
    await row.waitFor();

    await page.getByRole("link", { name: "Finished runs in Traces" }).click();
    await page.waitForURL(/traces\?range=7d&filter=/);
    const traces = page.getByRole("table", { name: "Traces" }).locator("tbody tr[data-key]");
    await traces.filter({ hasText: "say something" }).first().waitFor();
    expect(await traces.filter({ hasText: "by another" }).count()).toBe(0);
    await page.goBack();
    await row.getByRole("link", { name: "actor" }).click();
    await page.waitForURL("**/traces/*");
    expect(troubles).toEqual([]);
    await close();
  });

  it("fits a phone", async () => {
    await busyThread("A rather long title of a thread that does not fit beside the rest");
    const { page, close } = await visit(stage, { ...PHONE, path: "/console/runs" });
    const cancel = page.getByRole("table", { name: "Running" }).getByRole("button", { name: /^Cancel/ });
    await cancel.waitFor();
    await page.getByRole("table", { name: "Running" }).getByText("Started: ").waitFor({ state: "attached" });
    await expectNoSidewaysScroll(page);
    expect((await cancel.boundingBox())?.height).toBeGreaterThanOrEqual(44);
    expect(await findings(page)).toEqual([]);
    await stopAll();
    const { thread_id } = await call("/threads", {});
    await call(`/threads/${thread_id}/runs/wait`, createRunBody("fail"));
    const failed = page.getByRole("table", { name: "Failed" }).locator("tbody tr");
    await failed
      .filter({ hasText: /It broke.*Took: .*Ended: / })
      .first()
      .waitFor();
    await expectNoSidewaysScroll(page);
    await close();
  });
});
