import { describe, expect, it } from "vitest";
import { startKillable } from "../support/server.ts";
import {
  expectAnswer,
  answers,
  browserHere,
  choose,
  checkEventually,
  onStage,
  listNumbers,
  say,
  waitUntilSettled,
  strip,
  visit,
} from "./page.ts";

describe.runIf(browserHere)("the page while the server is killed", () => {
  const stage = onStage(() => startKillable({ OFFLINE_MODEL_DELAY_MS: "20" }));

  it("says so, and continues when it is back, with the whole answer once", async () => {
    const { page, close } = await visit(stage);
    await choose(page, "agent");
    await say(page, "count to 200");
    await expectAnswer(page, " 40 ");
    await stage.server.kill();
    await strip(page).getByText("Connection lost").waitFor();
    expect(await answers(page).last().textContent()).toContain(" 40 ");
    await stage.server.restart();
    await checkEventually(
      () => answers(page).last().textContent(),
      (text) => expect(text).toBe(listNumbers(200)),
      90_000,
    );
    await waitUntilSettled(page);
    await checkEventually(
      () => answers(page).allTextContents(),
      (all) => expect(all).toEqual([listNumbers(200)]),
    );
    await close();
  });
});
