/** A conversation over tabs, other views and reloads. */
import { describe, expect, it } from "vitest";
import { startServer } from "../support/server.ts";
import {
  answers,
  browserHere,
  choose,
  composer,
  eventually,
  expectAnswer,
  focused,
  log,
  onStage,
  say,
  settled,
  strip,
  visit,
} from "./page.ts";

describe.runIf(browserHere)("a conversation over tabs and views", () => {
  const stage = onStage(() => startServer({ OFFLINE_MODEL_DELAY_MS: "15" }));

  it("keeps queued messages while another view is open and over a reload, and sends each once", async () => {
    const { page, close } = await visit(stage);
    await choose(page, "agent");
    await say(page, "count to 300");
    await expectAnswer(page, " 10 ");
    const chat = new URL(page.url()).pathname;
    await say(page, "First queued");
    await say(page, "Second queued");
    const queue = page.getByRole("list", { name: "Queued messages" });
    await queue.getByText("Second queued").waitFor();
    await page.evaluate('history.pushState(null, "", "/console/keys")');
    await page.getByRole("heading", { level: 1, name: "Keys" }).waitFor();
    await page.evaluate(`history.pushState(null, "", "${chat}")`);
    await queue.getByText("First queued").waitFor();
    await page.reload();
    await queue.getByText("Second queued").waitFor();
    await eventually(
      () => log(page).getByRole("article").allTextContents(),
      (turns) =>
        expect(turns).toEqual([
          expect.stringContaining("298 299 300"),
          expect.stringMatching(/First queued.*message 2 of this conversation/s),
          expect.stringMatching(/Second queued.*message 3 of this conversation/s),
        ]),
    );
    await settled(page);
    expect(await queue.count()).toBe(0);
    await page.reload();
    await answers(page).nth(2).waitFor();
    expect(await log(page).getByRole("article").count()).toBe(3);
    expect(await queue.count()).toBe(0);
    await close();
  });

  it("shows the answer under its question in a second tab that opens a branched thread in the middle of a run", async () => {
    const { page, close } = await visit(stage);
    await choose(page, "agent");
    for (const text of ["First", "Second"]) {
      await say(page, text);
      await expectAnswer(page, `You said: "${text}"`);
      await settled(page);
    }
    const second = log(page).getByRole("article").last();
    await second.getByRole("button", { name: "Edit message" }).click();
    await page.keyboard.press("Escape");
    await focused(page, second.getByRole("button", { name: "Edit message" }));
    await page.keyboard.press("Enter");
    await page.getByRole("textbox", { name: "Edit message" }).fill("count to 400");
    await page.getByRole("button", { name: "Send as new branch" }).click();
    await focused(page, composer(page));
    await expectAnswer(page, " 20 ");
    const tab = await visit(stage, { path: new URL(page.url()).pathname });
    const turns = log(tab.page).getByRole("article");
    for (const one of [page, tab.page]) {
      await eventually(
        () => answers(one).allTextContents(),
        (texts) => expect(texts).toEqual([expect.stringContaining("First"), expect.stringContaining("18 19 20")]),
      );
    }
    await settled(tab.page);
    expect(await turns.allTextContents()).toEqual([
      expect.stringContaining("First"),
      expect.stringMatching(/count to 400.*398 399 400/s),
    ]);
    await tab.close();
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
});
