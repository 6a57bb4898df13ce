import { describe, expect, it } from "vitest";
import { startServer } from "../support/server.ts";
import {
  expectAnswer,
  answers,
  browserHere,
  choose,
  composer,
  eventually,
  focused,
  onStage,
  log,
  numbersTo,
  say,
  settled,
  strip,
  visit,
} from "./page.ts";

describe.runIf(browserHere)("a conversation in the browser", () => {
  const stage = onStage(() => startServer({ OFFLINE_MODEL_DELAY_MS: "15" }));

  it("streams an answer, folds the tool, and names the thread", async () => {
    const { page, troubles, close } = await visit(stage);
    await choose(page, "agent");
    await say(page, "What is 17 * 24?");
    await page.waitForURL(/\/chat\/[0-9a-f-]{36}$/);
    await expectAnswer(page, "17 * 24 = 408.");
    await settled(page);
    const tool = log(page).getByRole("button", { name: /^calculator/ });
    expect(await tool.getAttribute("aria-expanded")).toBe("false");
    await tool.click();
    await log(page).getByRole("region", { name: "Output" }).getByText("408").waitFor();
    await page
      .getByRole("navigation")
      .getByRole("link", { name: /What is 17 \* 24\?/ })
      .waitFor();
    await composer(page).fill("Hello");
    await page.keyboard.press("Enter");
    await focused(page, composer(page));
    await expectAnswer(page, "message 2 of this conversation");
    await settled(page);
    expect(await log(page).getByRole("article").count()).toBe(2);
    await page.reload();
    await answers(page).nth(2).waitFor();
    expect(await log(page).getByRole("article").count()).toBe(2);
    expect(troubles).toEqual([]);
    await close();
  });

  it("goes on after a reload in the middle of an answer, with nothing lost and nothing twice", async () => {
    const { page, close } = await visit(stage);
    await choose(page, "agent");
    await say(page, "count to 250");
    await expectAnswer(page, " 40 ");
    await page.reload();
    await strip(page).getByText("Running").waitFor();
    await eventually(
      () => answers(page).last().textContent(),
      (text) => expect(text).toBe(numbersTo(250)),
    );
    await settled(page);
    expect(await answers(page).count()).toBe(1);
    expect(await answers(page).last().textContent()).toBe(numbersTo(250));
    await close();
  });

  it("stops a run, and keeps what was said, marked as stopped, also after the next answer and a reload", async () => {
    const { page, close } = await visit(stage);
    await choose(page, "agent");
    await say(page, "count to 5000");
    await expectAnswer(page, " 30 ");
    await page.getByRole("form", { name: "Message" }).getByRole("button", { name: "Stop" }).click();
    await strip(page).getByText("Stopped after").waitFor();
    expect(await answers(page).last().textContent()).toContain(" 30 ");
    const threadId = page.url().split("/").at(-1);
    await eventually(
      async () =>
        (await fetch(`${stage.server.url}/threads/${threadId}/runs`, { headers: stage.server.headers })).json<
          { status: string }[]
        >(),
      (runs) => expect(runs.map((run) => run.status)).not.toContain("running"),
    );
    await say(page, "Hello");
    await expectAnswer(page, "You said");
    await settled(page);
    const expectBoth = async () => {
      await eventually(
        () => answers(page).allTextContents(),
        (texts) => expect(texts).toEqual([expect.stringContaining(" 30 "), expect.stringContaining("You said")]),
      );
      expect(await answers(page).first().getByText("Stopped before").count()).toBe(1);
      expect(await answers(page).last().getByText("Stopped before").count()).toBe(0);
    };
    await expectBoth();
    await page.reload();
    await expectBoth();
    await close();
  });

  it("stops a run that this tab did not start", async () => {
    const { page, close } = await visit(stage);
    await choose(page, "agent");
    await say(page, "count to 5000");
    await expectAnswer(page, " 30 ");
    await page.reload();
    await strip(page).getByText("Running").waitFor();
    await composer(page).focus();
    await page.keyboard.press("Control+Period");
    await strip(page).getByText("Stopped after").waitFor();
    await close();
  });

  it("folds the list of threads by shortcut while the composer has the focus", async () => {
    const { page, close } = await visit(stage);
    await composer(page).focus();
    const threads = page.getByRole("searchbox", { name: "Search threads" });
    await threads.waitFor();
    await page.keyboard.press("Control+b");
    await threads.waitFor({ state: "detached" });
    await focused(page, composer(page));
    await page.keyboard.press("Control+b");
    await threads.waitFor();
    await focused(page, composer(page));
    expect(await threads.isVisible()).toBe(true);
    await close();
  });

  it("queues what is written during a run", async () => {
    const { page, close } = await visit(stage);
    await choose(page, "agent");
    await say(page, "count to 80");
    await expectAnswer(page, " 10 ");
    await say(page, "Hello");
    await page.getByRole("list", { name: "Queued messages" }).getByText("Hello").waitFor();
    await expectAnswer(page, "message 2 of this conversation");
    await settled(page);
    expect(await answers(page).first().textContent()).toBe(numbersTo(80));
    await close();
  });

  it("edits a message on a branch of its own, and goes between the branches", async () => {
    const { page, close } = await visit(stage);
    await choose(page, "agent");
    for (const [i, text] of ["First", "Second"].entries()) {
      await say(page, text);
      await expectAnswer(page, `message ${i + 1} of`);
      await settled(page);
    }
    const second = log(page).getByRole("article").last();
    await second.getByRole("button", { name: "Edit message" }).click();
    await page.getByRole("textbox", { name: "Edit message" }).fill("Another");
    await page.getByRole("button", { name: "Send as new branch" }).click();
    await expectAnswer(page, 'You said: "Another"');
    await settled(page);
    await second.getByText("2 of 2").waitFor();
    await second.getByRole("button", { name: "Previous branch, 2 of 2" }).click();
    await page.waitForURL(/\?at=/);
    await second.getByText("Second", { exact: true }).waitFor();
    await strip(page).getByText("Branch 1 of 2").waitFor();

    await say(page, "Third");
    await eventually(
      () => log(page).getByRole("article").allTextContents(),
      (turns) => {
        expect(turns).toHaveLength(3);
        expect(turns[1]).toContain("Second");
        expect(turns[2]).toContain("message 3 of this conversation");
      },
    );
    await settled(page);
    await page.reload();
    await log(page).getByText("Third", { exact: true }).waitFor();
    expect(await log(page).getByText("Another", { exact: true }).count()).toBe(0);
    await close();
  });
});
