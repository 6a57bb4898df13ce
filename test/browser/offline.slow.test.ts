/** What a person writes without a connection is kept, and sent when there is one. */
import { describe, expect, it } from "vitest";
import { sharedServer } from "../support/shared-server.ts";
import {
  browserHere,
  choose,
  expectAnswer,
  log,
  onStage,
  readRunStatuses,
  say,
  waitUntilSettled,
  visit,
} from "./page.ts";

describe.runIf(browserHere)("the chat without a connection", () => {
  const stage = onStage(() => sharedServer("graphs"));

  it("keeps a message, on a new thread and on one that has begun, and sends it when the browser is online", async () => {
    const { page, troubles, close } = await visit(stage);
    await choose(page, "agent");
    const queue = page.getByRole("list", { name: "Queued messages" });
    await page.context().setOffline(true);
    await page.getByText("You are offline.").waitFor();
    await say(page, "What is 17 * 24?");
    await queue.getByText("Sent when you are online").waitFor();
    expect(await page.getByText("Not sent").count()).toBe(0);
    await page.context().setOffline(false);
    await expectAnswer(page, "17 * 24 = 408.");
    await waitUntilSettled(page);
    // The thread has the name of its first message.
    await page
      .getByRole("navigation", { name: "Threads" })
      .getByRole("link", { name: /What is 17 \* 24\?/ })
      .waitFor();

    await page.context().setOffline(true);
    await page.getByText("You are offline.").waitFor();
    await say(page, "What is 6 * 7?");
    await say(page, "What is 5 * 5?");
    await expect.poll(async () => queue.getByRole("listitem").count()).toBe(2);
    await page.context().setOffline(false);
    await expectAnswer(page, "5 * 5 = 25.");
    await waitUntilSettled(page);
    await expect.poll(async () => log(page).getByRole("article").count()).toBe(3);
    expect(await log(page).getByText("6 * 7 = 42.").count()).toBeGreaterThan(0);
    expect(troubles).toEqual([]);
    await close();
  });

  it("keeps a message while the server does not answer, and sends it when it does", async () => {
    const { page, close } = await visit(stage);
    await choose(page, "agent");
    const queue = page.getByRole("list", { name: "Queued messages" });
    const isRequest = ({ pathname }: URL) => !/\.(js|css)$/.test(pathname);
    for (const [first, second, turns] of [
      ["2 * 3 = 6.", "4 * 5 = 20.", 2],
      ["6 * 7 = 42.", "7 * 7 = 49.", 4],
    ] as const) {
      await page.route(isRequest, (route) => route.abort("connectionrefused"));
      await say(page, first.replace(/ =.*/, ""));
      await queue.getByText("Sent when the server answers").waitFor();
      await say(page, second.replace(/ =.*/, ""));
      await expect.poll(() => queue.getByRole("listitem").count()).toBe(2);
      expect(await page.getByText("Not sent").count()).toBe(0);
      expect(await page.getByText("The server did not answer").count()).toBe(0);
      await page.unroute(isRequest);
      await expectAnswer(page, second);
      await waitUntilSettled(page);
      await expect.poll(() => log(page).getByRole("article").count()).toBe(turns);
      await log(page)
        .getByRole("article")
        .nth(turns - 2)
        .getByText(first)
        .first()
        .waitFor();
    }
    await close();
  });

  it("does not send again what the server has, though its answer was lost", async () => {
    const { page, close } = await visit(stage);
    await choose(page, "agent");
    await say(page, "What is 2 * 3?");
    await expectAnswer(page, "2 * 3 = 6.");
    await waitUntilSettled(page);
    await page.route(/\/commands$/, async (route) => {
      await route.fetch();
      await route.abort("connectionreset");
    });
    await say(page, "What is 4 * 5?");
    await expectAnswer(page, "4 * 5 = 20.");
    await waitUntilSettled(page);
    await expect.poll(() => page.getByRole("list", { name: "Queued messages" }).count()).toBe(0);
    await expect.poll(() => log(page).getByRole("article").count()).toBe(2);
    expect(await readRunStatuses(page, stage.server)).toEqual(["success", "success"]);
    await close();
  });

  it("makes one thread of all messages that were written before it", async () => {
    const { page, close } = await visit(stage);
    await choose(page, "agent");
    const threads: string[] = [];
    const started = Promise.withResolvers<void>();
    await page.route(/\/threads\/[^/]+\/commands$/, async (route) => {
      if (route.request().postDataJSON().method === "run.start") {
        threads.push(new URL(route.request().url()).pathname);
        await started.promise;
      }
      await route.continue();
    });
    await page.context().setOffline(true);
    await page.getByText("You are offline.").waitFor();
    const queue = page.getByRole("list", { name: "Queued messages" });
    for (const text of ["What is 2 * 3?", "What is 4 * 5?", "What is 7 * 7?"]) await say(page, text);
    await expect.poll(async () => queue.getByRole("listitem").count()).toBe(3);
    await page.context().setOffline(false);
    await expect.poll(() => threads.length).toBeGreaterThan(0);
    // Time for a second message to be sent before the server has the thread.
    await page.waitForTimeout(1_000);
    started.resolve();
    await expectAnswer(page, "7 * 7 = 49.");
    await waitUntilSettled(page);
    expect(new Set(threads).size).toBe(1);
    await expect.poll(async () => log(page).getByRole("article").count()).toBe(3);
    await close();
  });

  it("continues the branch that was in view, with all that was written for it", async () => {
    const { page, close } = await visit(stage);
    await choose(page, "agent");
    for (const text of ["What is 2 * 3?", "What is 4 * 5?"]) {
      await say(page, text);
      await waitUntilSettled(page);
    }
    const second = log(page).getByRole("article").nth(1);
    await second.getByRole("button", { name: "Edit message" }).click();
    await page.getByRole("textbox", { name: "Edit message" }).fill("What is 7 * 7?");
    await page.getByRole("button", { name: "Send as new branch" }).click();
    await expectAnswer(page, "7 * 7 = 49.");
    await waitUntilSettled(page);
    await second.getByRole("button", { name: "Previous branch, 2 of 2" }).click();
    await log(page).getByText("4 * 5 = 20.").first().waitFor();
    await page.context().setOffline(true);
    await page.getByText("You are offline.").waitFor();
    await say(page, "What is 6 * 6?");
    await say(page, "What is 8 * 8?");
    await page.context().setOffline(false);
    await expectAnswer(page, "8 * 8 = 64.");
    await waitUntilSettled(page);
    const asked = log(page).getByRole("article");
    await expect.poll(async () => asked.count()).toBe(4);
    for (const [n, text] of ["2 * 3", "4 * 5", "6 * 6", "8 * 8"].entries())
      await asked.nth(n).getByText(text).first().waitFor();
    await close();
  });
});
