/**
 * What makes a view slow to open: requests that wait for others, code that is not needed yet, and elements that are not in
 * view. The times themselves are measured by `npm run bench -- page`.
 */
import type { Page, Request } from "playwright-core";
import { describe, expect, it } from "vitest";
import { sendLongThread } from "../support/long.ts";
import { sharedServer } from "../support/shared-server.ts";
import { sendLongViews } from "./long-views.ts";
import {
  answers,
  browserHere,
  findComposer,
  checkEventually,
  expectAnswer,
  hold,
  log,
  onStage,
  say,
  waitUntilSettled,
  visit,
} from "./page.ts";

const TURNS = 70;
const RUNS = 300;
/** Bytes of script, not compressed, that run before the rows of a trace are there. */
const TRACE_SCRIPT = 440_000;

describe.runIf(browserHere)("what a view costs before it is shown", () => {
  const stage = onStage(() => sharedServer());
  const long = sendLongViews(stage, TURNS, RUNS);

  it("requests a thread while the code of the chat loads, nothing twice, and draws the newest turns first", async () => {
    const { page, close } = await visit(stage, { path: "/console/nothing" });
    const release = await hold(page, "**/assets/Chat-*.js");
    const sent = collectRequests(page);
    await page.addInitScript(countFirst("[data-turn]"));
    await page.goto(`${stage.server.url}/chat/${long.thread}`);
    const needed = [`GET /threads/${long.thread}/runs`, `GET /threads/${long.thread}/state`];
    await checkEventually(
      async () => sent.map(nameRequest),
      (names) =>
        expect(names).toEqual(expect.arrayContaining([...needed, "POST /assistants/search", "POST /threads/search"])),
    );
    release();
    await answers(page)
      .getByText(`turn ${TURNS - 1}`)
      .waitFor();
    expect(await page.evaluate<number>("window.first")).toBeLessThanOrEqual(8);
    for (const name of [`GET /threads/${long.thread}/state`, "POST /assistants/search"])
      expect([name, sent.filter((one) => nameRequest(one) === name).length]).toEqual([name, 1]);
    // What names the thread is read without its state.
    expect(sent.filter((one) => one.postData()?.includes(`"ids":["${long.thread}"]`))).toHaveLength(1);
    expect(sent.map(nameRequest)).not.toContain(`GET /threads/${long.thread}`);
    // The others follow. Earlier turns are mounted when they are wanted.
    await checkEventually(
      () => log(page).getByRole("article").count(),
      (count) => expect(count).toBe(60),
    );
    await close();
  });

  it("shows a thread without the stream's client and the renderer of Markdown, and sends what is written before they are there", async () => {
    const own = await sendLongThread(stage.server, 2);
    const { page, close } = await visit(stage, { path: "/console/nothing" });
    const releases = await Promise.all(
      ["StreamClient", "Markdown"].map((name) => hold(page, `**/assets/${name}-*.js`)),
    );
    await page.goto(`${stage.server.url}/chat/${own}`);
    await answers(page).getByText("turn 1").waitFor();
    await say(page, "written early");
    for (const release of releases) release();
    await expectAnswer(page, "written early");
    await waitUntilSettled(page);
    await log(page).getByRole("article").filter({ hasText: "written early" }).waitFor();
    await close();
  });

  it("requests the state of a thread of the list beside its runs, not after them", async () => {
    const { page, close } = await visit(stage, { path: "/chat" });
    await findComposer(page).waitFor();
    const link = page.locator(`a[href="/chat/${long.thread}"]`);
    await link.waitFor();
    const release = await hold(page, `**/threads/${long.thread}/**`);
    const sent = collectRequests(page);
    await link.click();
    await checkEventually(
      async () => sent.map(nameRequest),
      (names) =>
        expect(names).toEqual(
          expect.arrayContaining([`GET /threads/${long.thread}/runs`, `GET /threads/${long.thread}/state`]),
        ),
    );
    release();
    await answers(page)
      .getByText(`turn ${TURNS - 1}`)
      .waitFor();
    expect(sent.filter((one) => nameRequest(one) === `GET /threads/${long.thread}/state`)).toHaveLength(1);
    await close();
  });

  it("requests a trace while the code of its view loads, loads no code of other views, and draws the rows in view", async () => {
    const { page, close } = await visit(stage, { path: "/console/nothing" });
    // No script of the page before.
    await page.waitForLoadState("networkidle");
    const release = await hold(page, "**/assets/Traces-*.js");
    const sent = collectRequests(page);
    const scripts: Promise<[name: string, bytes: number]>[] = [];
    page.on("response", (response) => {
      const name = /\/assets\/(\w+)[^/]*\.js$/.exec(response.url())?.[1];
      if (name !== undefined) scripts.push(response.body().then((body) => [name, body.length]));
    });
    await page.addInitScript(countFirst("[role=treeitem]"));
    await page.addInitScript(noteText("No trace with this id"));
    await page.goto(`${stage.server.url}/traces/${long.trace}`);
    const name = `GET /api/v2/traces/${long.trace}/runs`;
    await checkEventually(
      async () => sent.map(nameRequest),
      (names) => expect(names).toContain(name),
    );
    release();
    await page.getByRole("treeitem").nth(5).waitFor();
    const loaded = await Promise.all(scripts);
    // The first rows, and then all.
    await page.getByText(`${RUNS} runs`).waitFor();
    const sizes = sent.filter((one) => nameRequest(one) === name).map(readPageSize);
    expect(sizes).toEqual(["100", null]);
    expect(await page.evaluate<number>("window.first")).toBeLessThanOrEqual(60);
    expect(await page.evaluate("window.noted ?? false")).toBe(false);
    expect(loaded.map(([file]) => file)).not.toContain("Chat");
    expect(loaded.map(([file]) => file)).not.toContain("Markdown");
    expect(loaded.reduce((sum, [, bytes]) => sum + bytes, 0)).toBeLessThan(TRACE_SCRIPT);
    await close();
  });

  it("shows the first rows of a large trace while the others load, and a run of the others when they are there", async () => {
    const { page, close } = await visit(stage, { path: "/console/nothing" });
    const isAllRuns = (url: URL) =>
      url.pathname.endsWith(`/traces/${long.trace}/runs`) && !url.searchParams.has("page_size");
    const release = await hold(page, isAllRuns);
    await page.goto(`${stage.server.url}/traces/${long.trace}`);
    const rows = page.getByRole("treeitem");
    await rows.nth(5).waitFor();
    await page.getByText("… runs").waitFor();
    release();
    await page.getByText(`${RUNS} runs`).waitFor();
    await rows.first().click();
    await page.keyboard.press("End");
    const last = page.getByRole("treeitem", { name: `step ${RUNS - 1}`, selected: true });
    await last.waitFor();
    const id = await last.getAttribute("data-run");

    const again = await hold(page, isAllRuns);
    const sent = collectRequests(page);
    await page.goto(`${stage.server.url}/traces/${long.trace}?run=${id}`);
    await checkEventually(
      async () => sent.filter((one) => isAllRuns(new URL(one.url()))),
      (requests) => expect(requests).toHaveLength(1),
    );
    expect(await rows.count()).toBe(0);
    again();
    await last.waitFor();
    await close();
  });

  it("shows a view at once where its code is there, without its outline", async () => {
    const { page, close } = await visit(stage, { path: "/console/nothing" });
    // The purpose of the chat is in its outline only.
    await page.addInitScript(noteText("Talk to an agent"));
    await page.goto(`${stage.server.url}/console/keys`);
    const [code] = await Promise.all([
      page.waitForResponse(/\/assets\/Chat-[^/]*\.js$/),
      // The pointer on a link loads the code of its view.
      page.locator('nav a[href="/chat"]').first().hover(),
    ]);
    await page.evaluate(`import(${JSON.stringify(code.url())})`);
    await page.waitForFunction(`document.querySelector('link[rel="stylesheet"][href*="/Chat-"]')?.sheet`);
    await page.evaluate(`history.pushState(null, "", "/chat/${long.thread}")`);
    await answers(page)
      .getByText(`turn ${TURNS - 1}`)
      .waitFor();
    expect(await page.evaluate("window.noted ?? false")).toBe(false);
    await close();
  });

  it("has the code of the chat, the traces and the overview before they are opened from another view", async () => {
    const { page, close } = await visit(stage, { path: "/console/nothing" });
    const files = new Set<string>();
    page.on("request", (request) => {
      const name = /\/assets\/(\w+)[^/]*\.js$/.exec(request.url())?.[1];
      if (name !== undefined) files.add(name);
    });
    await page.goto(`${stage.server.url}/console/keys`);
    await checkEventually(
      async () => [...files],
      (names) => expect(names).toEqual(expect.arrayContaining(["Chat", "Markdown", "Sidebar", "Traces", "Overview"])),
    );
    // What the last of these imports is requested a moment later.
    await checkEventually(
      async () => {
        const seen = files.size;
        await page.waitForTimeout(1_000);
        return files.size - seen;
      },
      (more) => expect(more).toBe(0),
    );
    const before = files.size;
    await page.evaluate(`history.pushState(null, "", "/chat/${long.thread}")`);
    await answers(page)
      .getByText(`turn ${TURNS - 1}`)
      .waitFor();
    await page.evaluate(`history.pushState(null, "", "/traces/${long.trace}")`);
    await page.getByRole("treeitem").nth(5).waitFor();
    await page.evaluate('history.pushState(null, "", "/")');
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    expect(files.size).toBe(before);
    await close();
  });
});

const nameRequest = (request: Request) => `${request.method()} ${new URL(request.url()).pathname}`;

const readPageSize = (request: Request) => new URL(request.url()).searchParams.get("page_size");

/** The requests that the page makes from now on. */
function collectRequests(page: Page): Request[] {
  const sent: Request[] = [];
  page.on("request", (request) => sent.push(request));
  return sent;
}

/** Counts, in `window.first`, the elements that are drawn when there is one for the first time. */
const countFirst = (selector: string) => `
  new MutationObserver((_, observer) => {
    const { length } = document.querySelectorAll("${selector}");
    if (length === 0) return;
    window.first = length;
    observer.disconnect();
  }).observe(document, { childList: true, subtree: true });
`;

/** Sets `window.noted` when the page has this text at any time. */
const noteText = (text: string) => `
  new MutationObserver(() => {
    if (document.body?.textContent.includes("${text}")) window.noted = true;
  }).observe(document, { childList: true, subtree: true });
`;
