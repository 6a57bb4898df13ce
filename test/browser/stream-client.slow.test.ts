/** The chat before the client of its stream is there: its code is loaded after the messages. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { sharedServer } from "../support/shared-server.ts";
import {
  answers,
  browserHere,
  choose,
  checkEventually,
  expectAnswer,
  hold,
  log,
  onStage,
  readRunStatuses,
  say,
  waitUntilSettled,
  strip,
  visit,
} from "./page.ts";

const CLIENT = "**/StreamClient-*.js";

const numbersShown = async (page: Page) => (await answers(page).last().textContent())?.split(" ").length ?? 0;

describe.runIf(browserHere)("the chat before its stream's client is there", () => {
  const stage = onStage(() => sharedServer("delayed"));

  it("shows how a run that was in progress at load goes on", async () => {
    const { page, close } = await visit(stage);
    await choose(page, "agent");
    await say(page, "count to 5000");
    await expectAnswer(page, " 30 ");
    await page.reload();
    await checkEventually(
      () => numbersShown(page),
      (count) => expect(count).toBeGreaterThan(60),
    );
    await strip(page).getByText("Running").waitFor();
    await page.getByRole("form", { name: "Message" }).getByRole("button", { name: "Stop" }).click();
    await waitUntilSettled(page);
    await close();
  });

  it("keeps what is sent, also over a reload, and sends each message once", async () => {
    const { page, troubles, close } = await visit(stage, { path: "/console/usage" });
    const release = await hold(page, CLIENT);
    await page.goto(`${stage.server.url}/chat`);
    await choose(page, "agent");
    const queue = page.getByRole("list", { name: "Queued messages" });
    await say(page, "First");
    await say(page, "Second");
    await queue.getByText("Sent when the chat has loaded").nth(1).waitFor();
    await page.reload();
    await queue.getByText("Sent when the chat has loaded").nth(1).waitFor();
    release();
    await expectAnswer(page, 'You said: "Second"');
    await waitUntilSettled(page);
    expect(await log(page).getByRole("article").count()).toBe(2);
    expect(await queue.count()).toBe(0);
    expect(troubles).toEqual([]);
    await close();
  });

  it("does not start what was stopped before it was sent", async () => {
    const { page, close } = await visit(stage);
    await choose(page, "agent");
    await say(page, "Hello");
    await expectAnswer(page, "You said");
    await waitUntilSettled(page);
    const release = await hold(page, CLIENT);
    await page.reload();
    await log(page).getByRole("button", { name: "Regenerate answer" }).click();
    await strip(page).getByText("Running").waitFor();
    await page.getByRole("form", { name: "Message" }).getByRole("button", { name: "Stop" }).click();
    await waitUntilSettled(page);
    release();
    await say(page, "Again");
    await expectAnswer(page, 'You said: "Again"');
    await waitUntilSettled(page);
    expect(await readRunStatuses(page, stage.server)).toHaveLength(2);
    await close();
  });

  it("sends an answer to a question once the client has read the thread", async () => {
    const { page, close } = await visit(stage);
    await choose(page, "approval");
    await say(page, "Write to ada@example.com that the build is green");
    const approve = log(page).getByRole("button", { name: "Approve send_email" });
    await approve.waitFor();
    const release = await hold(page, CLIENT);
    await page.reload();
    await approve.click();
    await strip(page).getByText("Running").waitFor();
    release();
    await expectAnswer(page, "Sent to ada@example.com.");
    await waitUntilSettled(page);
    expect(await log(page).getByRole("alert").count()).toBe(0);
    await close();
  });
});
