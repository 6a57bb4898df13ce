/** A conversation over tabs, other views and reloads. */
import type { BrowserContext, Page, Request } from "playwright-core";
import { describe, expect, it } from "vitest";
import { sharedServer } from "../support/shared-server.ts";
import {
  answers,
  browserHere,
  choose,
  findComposer,
  checkEventually,
  expectAnswer,
  waitForFocus,
  log,
  listNumbers,
  onStage,
  readRunStatuses,
  readShownId,
  say,
  waitUntilSettled,
  strip,
  visit,
} from "./page.ts";

/** Makes the page think that its tab is in front, or behind another one. A headless browser shows every tab. */
const show = (page: Page, isSeen: boolean) =>
  page.evaluate(`Object.defineProperty(document, "hidden", { configurable: true, get: () => ${!isSeen} });
    document.dispatchEvent(new Event("visibilitychange"))`);

/** The streams that the pages of a browser read now. */
function watchStreams(context: BrowserContext) {
  const open = new Set<Request>();
  context.on("request", (request) => /\/(stream\/events|activity\/stream)$/.test(request.url()) && open.add(request));
  for (const event of ["requestfinished", "requestfailed"] as const)
    context.on(event as "requestfinished", (request) => open.delete(request));
  const count = (path: string) => [...open].filter((request) => request.url().endsWith(path)).length;
  return { threads: () => count("/stream/events"), activity: () => count("/activity/stream") };
}

describe.runIf(browserHere)("a conversation over tabs and views", () => {
  const stage = onStage(() => sharedServer("delayed"));

  /** Starts a run from elsewhere, on a thread or on a new one. */
  async function startRun(assistant_id: string, content: string, thread = crypto.randomUUID()): Promise<void> {
    const { url, headers } = stage.server;
    const answer = await fetch(`${url}/threads/${thread}/runs`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify({
        assistant_id,
        if_not_exists: "create",
        input: { messages: [{ role: "user", content }] },
      }),
    });
    expect(answer.status).toBe(200);
  }

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
    await checkEventually(
      () => log(page).getByRole("article").allTextContents(),
      (turns) =>
        expect(turns).toEqual([
          expect.stringContaining("298 299 300"),
          expect.stringMatching(/First queued.*message 2 of this conversation/s),
          expect.stringMatching(/Second queued.*message 3 of this conversation/s),
        ]),
    );
    await waitUntilSettled(page);
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
      await waitUntilSettled(page);
    }
    const second = log(page).getByRole("article").last();
    await second.getByRole("button", { name: "Edit message" }).click();
    await page.keyboard.press("Escape");
    await waitForFocus(page, second.getByRole("button", { name: "Edit message" }));
    await page.keyboard.press("Enter");
    await page.getByRole("textbox", { name: "Edit message" }).fill("count to 400");
    await page.getByRole("button", { name: "Send as new branch" }).click();
    await waitForFocus(page, findComposer(page));
    await expectAnswer(page, " 20 ");
    const tab = await visit(stage, { path: new URL(page.url()).pathname });
    const turns = log(tab.page).getByRole("article");
    for (const one of [page, tab.page]) {
      await checkEventually(
        () => answers(one).allTextContents(),
        (texts) => expect(texts).toEqual([expect.stringContaining("First"), expect.stringContaining("18 19 20")]),
      );
    }
    await waitUntilSettled(tab.page);
    expect(await turns.allTextContents()).toEqual([
      expect.stringContaining("First"),
      expect.stringMatching(/count to 400.*398 399 400/s),
    ]);
    await tab.close();
    await close();
  });

  it("keeps no connection in a hidden tab, and shows what arrived in the meantime when it is seen again", async () => {
    const { page, close } = await visit(stage);
    const streams = watchStreams(page.context());
    await choose(page, "agent");
    await say(page, "count to 1000");
    await expectAnswer(page, " 10 ");
    await show(page, false);
    await expect.poll(streams.threads).toBe(0);
    // It renders what it has received, and looks again after LOOK_EVERY.
    await page.waitForTimeout(500);
    const before = await answers(page).last().textContent();
    await page.waitForTimeout(1_000);
    expect(await readRunStatuses(page, stage.server)).toContain("running");
    expect(await answers(page).last().textContent()).toBe(before);
    const { url, headers } = stage.server;
    const thread = readShownId(page);
    await checkEventually(
      async () => (await (await fetch(`${url}/threads/${thread}`, { headers })).json<{ status: string }>()).status,
      (status) => expect(status).toBe("idle"),
    );
    await show(page, true);
    await expectAnswer(page, listNumbers(1000));
    await waitUntilSettled(page);
    await close();
  });

  it("leaves connections for requests beside two windows with runs and two views that follow the workspace", async () => {
    const { page, close } = await visit(stage);
    const streams = watchStreams(page.context());
    const [other, overview, runs] = await Promise.all([1, 2, 3].map(() => page.context().newPage()));
    await overview!.goto(`${stage.server.url}/`);
    await runs!.goto(`${stage.server.url}/console/runs`);
    await expect.poll(streams.activity).toBe(1);
    const windows = [page, other!];
    for (const one of windows) {
      if (one !== page) await one.goto(`${stage.server.url}/chat`);
      await choose(one, "agent");
      await say(one, "count to 800");
      await expectAnswer(one, " 10 ");
    }
    expect(streams.threads()).toBe(2);
    await Promise.all(
      [page, other!, overview!].map((one) => one.evaluate("fetch('/info').then((answer) => answer.text())")),
    );
    for (const one of windows) expect(await strip(one).getByText("Running").count()).toBe(1);
    for (const one of windows) await expectAnswer(one, "799 800");
    await expect.poll(streams.threads).toBe(0);
    expect(streams.activity()).toBe(1);

    await startRun("agent", "count to 700", readShownId(page));
    await expectAnswer(page, "19 20");
    expect(await readRunStatuses(page, stage.server)).toContain("running");
    await expectAnswer(page, "699 700");
    await expect.poll(streams.threads).toBe(0);
    await close();
  });

  it("reads one stream of changes for all views, in another when its tab is hidden, and none when all are", async () => {
    const { page, close } = await visit(stage, { path: "/" });
    const streams = watchStreams(page.context());
    await page.reload();
    await expect.poll(streams.activity).toBe(1);
    const other = await page.context().newPage();
    await other.goto(`${stage.server.url}/`);
    await other.getByText("No threads are waiting for an answer.").waitFor();
    expect(streams.activity()).toBe(1);
    await startRun("approval", "Write to ada@example.com");
    for (const one of [page, other]) await one.getByRole("link", { name: /Write to ada/ }).waitFor();
    expect(streams.activity()).toBe(1);
    const [follows] = await Promise.all([
      other.waitForResponse((answer) => answer.url().endsWith("/activity/stream")),
      show(page, false),
    ]);
    expect(follows.status()).toBe(200);
    await expect.poll(streams.activity).toBe(1);
    await startRun("approval", "Write to bob@example.com");
    await other.getByRole("link", { name: /Write to bob/ }).waitFor();
    await other.goto(`${stage.server.url}/console/runs`);
    await expect.poll(streams.activity).toBe(1);
    await show(other, false);
    await expect.poll(streams.activity).toBe(0);
    await show(page, true);
    await expect.poll(streams.activity).toBe(1);
    await close();
  });

  it("sends what waits for the end of a run, also while the tab is hidden", async () => {
    const { page, close } = await visit(stage);
    await choose(page, "agent");
    await say(page, "count to 200");
    await expectAnswer(page, " 10 ");
    await say(page, "Queued");
    await show(page, false);
    await checkEventually(
      () => readRunStatuses(page, stage.server),
      (statuses) => expect(statuses).toEqual(["success", "success"]),
    );
    await show(page, true);
    await expectAnswer(page, 'You said: "Queued"');
    await close();
  });

  it("works in the last of five tabs", async () => {
    const { page, close } = await visit(stage);
    const tabs = [page];
    for (let n = 0; n < 4; n++) tabs.push(await page.context().newPage());
    for (const [n, tab] of tabs.entries()) {
      if (n > 0) await tab.goto(`${stage.server.url}/chat`);
      await choose(tab, "agent");
      await say(tab, `Tab ${n}`);
      await expectAnswer(tab, `You said: "Tab ${n}"`);
      await waitUntilSettled(tab);
      if (n < 4) await show(tab, false);
    }
    await close();
  });

  it("stops a run that this tab did not start", async () => {
    const { page, close } = await visit(stage);
    await choose(page, "agent");
    await say(page, "count to 5000");
    await expectAnswer(page, " 30 ");
    await page.reload();
    await strip(page).getByText("Running").waitFor();
    await findComposer(page).focus();
    await page.keyboard.press("Control+Period");
    await strip(page).getByText("The graph has not finished").waitFor();
    await page.reload();
    await strip(page).getByRole("button", { name: "Continue" }).waitFor();
    await close();
  });
});
