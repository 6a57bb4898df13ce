import { describe, expect, it } from "vitest";
import { startServer, withTestGraphs } from "../support/server.ts";
import {
  answers,
  browserHere,
  choose,
  findComposer,
  checkEventually,
  expectAnswer,
  findings,
  waitForFocus,
  log,
  onStage,
  readShownId,
  say,
  waitUntilSettled,
  strip,
  visit,
} from "./page.ts";

describe.runIf(browserHere)("decisions and subagents in the browser", () => {
  const stage = onStage(() => startServer({ OFFLINE_MODEL_DELAY_MS: "5" }, withTestGraphs()));

  it("approves what waits, also after a reload, and does not show it again", async () => {
    const { page, close } = await visit(stage);
    await choose(page, "approval");
    await say(page, "Write to ada@example.com that the build is green");
    const card = log(page).getByRole("region", { name: "Waiting for you" });
    await card.getByText("ada@example.com", { exact: true }).waitFor();
    await strip(page).getByText("1 decision").waitFor();
    await expect.poll(() => page.title()).toBe("(1) Write to ada@example.com that the build is green · Weir");
    expect(await findComposer(page).isDisabled()).toBe(true);

    await page.reload();
    await card.getByRole("button", { name: "Approve send_email" }).click();
    await expectAnswer(page, "Sent to ada@example.com.");
    await waitUntilSettled(page);
    expect(await card.count()).toBe(0);
    expect(await findComposer(page).isDisabled()).toBe(false);
    await log(page).getByText("You approved send_email").waitFor();

    await say(page, "Hello");
    await expectAnswer(page, "You said");
    await waitUntilSettled(page);
    await page.reload();
    await answers(page).last().getByText("You said").waitFor();
    await waitUntilSettled(page);
    expect(await card.count()).toBe(0);
    const first = log(page).getByRole("article").first();
    await first.locator('[data-decided="yes"]').getByText("You approved send_email").waitFor();
    expect(await log(page).getByText("You approved").count()).toBe(1);
    await close();
  });

  it("edits the arguments before it approves, and keeps the rest", async () => {
    const { page, close } = await visit(stage);
    await choose(page, "approval");
    await say(page, "Write to ada@example.com that the build is green");
    const card = log(page).getByRole("region", { name: "Waiting for you" });
    for (const name of ["Edit", "Reject…", "Respond…"]) {
      await card.getByRole("button", { name }).click();
      await waitForFocus(page, card.getByRole("textbox").first());
      await card.getByRole("button", { name: "Cancel" }).click();
      await waitForFocus(page, card.getByRole("button", { name }));
    }
    await card.getByRole("button", { name: "Edit" }).click();
    await card.getByRole("textbox", { name: /^to/ }).fill("bob@example.com");
    await card.getByRole("button", { name: "Approve with edits" }).click();
    await expectAnswer(page, "Sent to bob@example.com.");
    await waitForFocus(page, findComposer(page));
    await log(page).getByText("You edited and approved send_email").waitFor();
    await close();
  });

  it("rejects with a reason", async () => {
    const { page, close } = await visit(stage);
    await choose(page, "approval");
    await say(page, "Write to ada@example.com that the build is green");
    const card = log(page).getByRole("region", { name: "Waiting for you" });
    await card.getByRole("button", { name: "Reject…" }).click();
    await card.getByRole("textbox", { name: /Why not/ }).fill("too early");
    await card.getByRole("button", { name: "Reject send_email" }).click();
    await expectAnswer(page, "too early");
    const line = log(page).locator('[data-decided="no"]');
    await line.getByText("You rejected send_email: too early").waitFor();
    await waitUntilSettled(page);
    await page.reload();
    await line.getByText("You rejected send_email: too early").waitFor();
    expect(await line.locator(".lucide-x").count()).toBe(1);
    await close();
  });

  it("holds the answers to several questions, of the graph and of a nested one, until all can be sent", async () => {
    const { page, troubles, close } = await visit(stage);
    await choose(page, "questions");
    await say(page, "go");
    await strip(page).getByText("3 decisions").waitFor();
    const cards = log(page).getByRole("region", { name: /^Waiting for you, \d of 3$/ });
    expect(await cards.count()).toBe(3);
    const card = (question: string) => cards.filter({ hasText: question });
    const answer = async (question: string, text: string) => {
      await card(question).getByRole("textbox").fill(text);
      await card(question).getByRole("button", { name: "Done" }).click();
      await card(question).getByRole("button", { name: "Change" }).waitFor();
    };
    await answer("deep", "d");
    await answer("left", "wrong");
    await waitForFocus(page, card("right"));
    expect(await page.getByRole("button", { name: "2 of 3 answered" }).isDisabled()).toBe(true);
    await card("left").getByRole("button", { name: "Change" }).click();
    await answer("left", "l");
    await answer("right", "r");
    const send = page.getByRole("button", { name: "Send all 3 answers" });
    await waitForFocus(page, send);
    expect(await findings(page)).toEqual([]);
    await page.keyboard.press("Enter");
    await expectAnswer(page, "deep: d; left: l; right: r");
    await waitUntilSettled(page);
    expect(
      await log(page)
        .getByRole("region", { name: /^Waiting for you,/ })
        .count(),
    ).toBe(0);
    expect(troubles).toEqual([]);
    await close();
  });

  it("shows what is left when another client has answered one of several", async () => {
    const { page, close } = await visit(stage);
    await choose(page, "questions");
    await say(page, "go");
    const cards = log(page).getByRole("region", { name: /^Waiting for you,/ });
    await checkEventually(
      () => cards.count(),
      (count) => expect(count).toBe(3),
    );
    const threadId = readShownId(page);
    const headers = { ...stage.server.headers, "content-type": "application/json" };
    const state = await fetch(`${stage.server.url}/threads/${threadId}/state`, { headers });
    const { tasks } = await state.json<{ tasks: { name: string; interrupts: { id: string }[] }[] }>();
    const left = tasks.find(({ name }) => name === "left")?.interrupts[0]?.id ?? "";
    const body = JSON.stringify({ assistant_id: "questions", command: { resume: { [left]: "l" } } });
    await fetch(`${stage.server.url}/threads/${threadId}/runs/wait`, { method: "POST", headers, body });
    await strip(page).getByText("2 decisions").waitFor();
    for (const question of ["right", "deep"]) {
      const card = cards.filter({ hasText: question });
      await card.getByRole("textbox").fill("x");
      await card.getByRole("button", { name: "Done" }).click();
    }
    await page.getByRole("button", { name: "Send all 2 answers" }).click();
    await expectAnswer(page, "deep: x; left: l; right: x");
    await close();
  });

  it("shows subagents as cards, each with a stream of its own", async () => {
    const { page, close } = await visit(stage);
    await choose(page, "research");
    await say(page, "How do weirs measure a river?");
    const card = log(page).getByRole("button", { name: /^researcher/ });
    await card.click();
    const panel = page.getByRole("complementary", { name: "Subagent researcher" });
    await panel.getByRole("button", { name: /^current_time/ }).waitFor();
    await expectAnswer(page, "The critic reports");
    await waitUntilSettled(page);
    await page.keyboard.press("Escape");
    expect(await panel.count()).toBe(0);
    await waitForFocus(page, card);
    const time = log(page).getByText(/^2 subagents · (\d+ ms|\d+\.\d+ s)$/);
    const took = await time.textContent();
    await page.reload();
    await time.waitFor();
    expect(await time.textContent()).toBe(took);
    await card.click();
    await panel.getByText("Collect the facts").waitFor();
    await close();
  });
});
