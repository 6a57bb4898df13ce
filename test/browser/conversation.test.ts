import { describe, expect, it } from "vitest";
import { sharedServer } from "../support/shared-server.ts";
import { itThorough } from "../support/thorough-test.ts";
import {
  expectAnswer,
  answers,
  browserHere,
  choose,
  findComposer,
  checkEventually,
  waitForFocus,
  onStage,
  log,
  listNumbers,
  say,
  waitUntilSettled,
  strip,
  visit,
} from "./page.ts";

describe.runIf(browserHere)("a conversation in the browser", () => {
  const stage = onStage(() => sharedServer("delayed"));

  it("streams an answer, folds the tool, and names the thread", async () => {
    const { page, troubles, close } = await visit(stage);
    await choose(page, "agent");
    await say(page, "What is 17 * 24?");
    await page.waitForURL(/\/chat\/[0-9a-f-]{36}$/);
    await expectAnswer(page, "17 * 24 = 408.");
    await waitUntilSettled(page);
    await log(page)
      .getByText(/^\d.*m?s · \d+ tokens · weir-offline$/)
      .waitFor();
    const tool = log(page).getByRole("button", { name: /^calculator/ });
    expect(await tool.getAttribute("aria-expanded")).toBe("false");
    await tool.click();
    await log(page).getByRole("region", { name: "Output" }).getByText("408").waitFor();
    await page
      .getByRole("navigation")
      .getByRole("link", { name: /What is 17 \* 24\?/ })
      .waitFor();
    await findComposer(page).fill("Hello");
    await page.keyboard.press("Enter");
    await waitForFocus(page, findComposer(page));
    await expectAnswer(page, "message 2 of this conversation");
    await waitUntilSettled(page);
    expect(await log(page).getByRole("article").count()).toBe(2);
    await page.reload();
    await answers(page).nth(2).waitFor();
    expect(await log(page).getByRole("article").count()).toBe(2);
    expect(troubles).toEqual([]);
    await close();
  });

  it("continues after a reload in the middle of an answer, with nothing lost and nothing twice", async () => {
    const { page, close } = await visit(stage);
    await choose(page, "agent");
    await say(page, "count to 250");
    await expectAnswer(page, " 40 ");
    await page.reload();
    await strip(page).getByText("Running").waitFor();
    await checkEventually(
      () => answers(page).last().textContent(),
      (text) => expect(text).toBe(listNumbers(250)),
    );
    await waitUntilSettled(page);
    expect(await answers(page).count()).toBe(1);
    expect(await answers(page).last().textContent()).toBe(listNumbers(250));
    await close();
  });

  itThorough(
    "stops a run, and keeps what was said, marked as stopped, also after the next answer and a reload",
    async () => {
      const { page, close } = await visit(stage);
      await choose(page, "agent");
      await say(page, "count to 5000");
      await expectAnswer(page, " 30 ");
      await page.getByRole("form", { name: "Message" }).getByRole("button", { name: "Stop" }).click();
      await strip(page).getByText("The graph has not finished").waitFor();
      expect(await answers(page).last().textContent()).toContain(" 30 ");
      const threadId = page.url().split("/").at(-1);
      await checkEventually(
        async () =>
          (await fetch(`${stage.server.url}/threads/${threadId}/runs`, { headers: stage.server.headers })).json<
            { status: string }[]
          >(),
        (runs) => expect(runs.map((run) => run.status)).not.toContain("running"),
      );
      await say(page, "Hello");
      await expectAnswer(page, "You said");
      await waitUntilSettled(page);
      const expectBoth = async () => {
        await checkEventually(
          () => answers(page).allTextContents(),
          (texts) => expect(texts).toEqual([expect.stringContaining(" 30 "), expect.stringContaining("You said")]),
        );
        expect(await answers(page).first().getByText("Stopped before").count()).toBe(1);
        expect(await answers(page).last().getByText("Stopped before").count()).toBe(0);
      };
      await expectBoth();
      expect(await strip(page).getByText("The graph has not finished").count()).toBe(0);
      await page.reload();
      await expectBoth();
      // The text is in no checkpoint. The message after it can be edited nevertheless.
      await log(page).getByRole("button", { name: "Edit message" }).last().click();
      await page.getByRole("textbox", { name: "Edit message" }).fill("Good evening");
      await page.getByRole("button", { name: "Send as new branch" }).click();
      await expectAnswer(page, "Good evening");
      await waitUntilSettled(page);
      await expectBoth();
      const second = log(page).getByRole("article").last();
      await second.getByRole("button", { name: "Previous branch, 2 of 2" }).waitFor();
      await close();
    },
  );
});
