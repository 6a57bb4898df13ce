import { describe, expect, it } from "vitest";
import { callAs } from "../support/workspace.ts";
import { sharedServer } from "../support/shared-server.ts";
import {
  browserHere,
  checkEventually,
  findingsInBothThemes,
  log,
  onStage,
  say,
  waitUntilSettled,
  visit,
} from "./page.ts";

interface Given {
  id: string;
  run_id: string;
  key: string;
  score: number | null;
  comment: string | null;
}

describe.runIf(browserHere)("scores in the browser", () => {
  const stage = onStage(() => sharedServer());
  const listFeedback = (run: string) => callAs<Given[]>(stage.server, "GET", `/api/v1/feedback?run=${run}`);

  async function openAnswered() {
    const visited = await visit(stage);
    const { page } = visited;
    await say(page, "What is 17 * 24?");
    await waitUntilSettled(page);
    const link = log(page).getByRole("link", { name: "Trace" });
    const run = String(await link.getAttribute("href")).slice("/traces/".length);
    return { ...visited, run, link, thumb: (name: string) => log(page).getByRole("button", { name, exact: true }) };
  }

  it("scores an answer in the chat, and shows it after a reload and on the run of the trace", async () => {
    const { page, run, link, thumb, troubles, close } = await openAnswered();
    await thumb("Bad answer").click();
    await thumb("Bad answer").and(page.locator('[aria-pressed="true"]:not(:disabled)')).waitFor();
    await expect.poll(async () => listFeedback(run)).toMatchObject([{ run_id: run, key: "user_score", score: 0 }]);

    await thumb("Score and comment").click();
    const dialog = page.getByRole("dialog", { name: "Score this run" });
    await dialog.getByLabel("Comment").fill("It is 408.");
    expect(await findingsInBothThemes(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Save score" }).click();
    await log(page).getByText("It is 408.").waitFor();
    // The same feedback has the comment now.
    await expect.poll(async () => listFeedback(run)).toMatchObject([{ score: 0, comment: "It is 408." }]);

    await page.reload();
    await thumb("Bad answer").and(page.locator('[aria-pressed="true"]')).waitFor();
    await link.click();
    const details = page.getByRole("region", { name: /agent/ });
    await details.getByRole("button", { name: "Bad answer" }).and(page.locator('[aria-pressed="true"]')).waitFor();
    await page.getByRole("treeitem").nth(1).click();
    await details.getByRole("button", { name: "Bad answer" }).and(page.locator('[aria-pressed="false"]')).waitFor();
    await page.getByRole("button", { name: "Score and comment" }).click();
    await dialog.getByLabel("Score", { exact: true }).fill("much");
    await dialog.getByText("Not a number.").waitFor();
    await dialog.getByLabel("Score", { exact: true }).fill("0.5");
    await dialog.getByLabel("Key").fill("correct");
    await dialog.getByRole("button", { name: "Save score" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Feedback", exact: true }).click();
    await page.getByText("correct", { exact: true }).waitFor();
    expect(troubles).toEqual([]);
    await close();
  });

  it("takes a thumb back when it is pressed again", async () => {
    const { page, run, thumb, close } = await openAnswered();
    await thumb("Good answer").click();
    await thumb("Good answer").and(page.locator('[aria-pressed="true"]:not(:disabled)')).waitFor();
    await thumb("Good answer").click();
    await checkEventually(
      () => listFeedback(run),
      (all) => expect(all).toEqual([]),
    );
    await thumb("Good answer").and(page.locator('[aria-pressed="false"]')).waitFor();
    await close();
  });

  it("disables the buttons for a key that may only read", async () => {
    const { page, close } = await openAnswered();
    const at = new URL(page.url()).pathname;
    await close();
    const { key } = await callAs<{ key: string }>(stage.server, "POST", "/api/v1/api-keys", {
      name: "reads",
      scopes: ["read"],
    });
    const reader = await visit({ ...stage, server: { ...stage.server, key } }, { path: at });
    const thumb = log(reader.page).getByRole("button", { name: /^Good answer/ });
    await thumb.and(reader.page.locator(":disabled")).waitFor();
    expect(await thumb.getAttribute("title")).toContain("traces.annotate");
    await reader.close();
  });
});
