import { describe, expect, it } from "vitest";
import { sharedServer } from "../support/shared-server.ts";
import {
  browserHere,
  findComposer,
  checkEventually,
  expectNoSidewaysScroll,
  findings,
  findingsInBothThemes,
  waitForFocus,
  onStage,
  PHONE,
  say,
  waitUntilSettled,
  visit,
} from "./page.ts";

describe.runIf(browserHere)("the frame of the page", () => {
  const stage = onStage(() => sharedServer("graphs"));

  it("has the navigation on each page, and the threads in the chat only", async () => {
    const { page, troubles, close } = await visit(stage);
    const pages = page.getByRole("navigation", { name: "Pages" });
    const threads = page.getByRole("navigation", { name: "Threads" });
    await threads.waitFor();
    await pages.getByRole("link", { name: "Threads" }).click();
    await page.getByRole("heading", { level: 1, name: "Threads" }).waitFor();
    expect(new URL(page.url()).pathname).toBe("/console/threads");
    expect(await pages.getByRole("link", { name: "Threads" }).getAttribute("aria-current")).toBe("page");
    expect(await threads.count()).toBe(0);
    await page.reload();
    await page.getByRole("heading", { level: 1, name: "Threads" }).waitFor();
    await pages.getByRole("link", { name: "Chat" }).click();
    await findComposer(page).waitFor();
    await threads.waitFor();
    expect(troubles).toEqual([]);
    await close();
  });

  it("says so where an address has no page, and keeps the paths of the API", async () => {
    const { page, close } = await visit(stage, { path: "/console/nothing" });
    await page.getByText("No page has this address.").waitFor();
    await close();
    const api = await fetch(`${stage.server.url}/threads/search`, { method: "POST", body: "{}" });
    expect([api.status, api.headers.get("content-type")]).toEqual([401, "application/problem+json"]);
  });

  it("keeps the time range from one view of Observe to the next, over a reload and back", async () => {
    const { page, close } = await visit(stage, { path: "/console/threads" });
    const range = page.getByLabel("Time range");
    expect(await range.inputValue()).toBe("24h");
    await range.selectOption("7d");
    expect(page.url()).toContain("range=7d");
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Traces" }).click();
    await page.waitForURL("**/traces?range=7d");
    await page.goBack();
    await page.reload();
    expect(await range.inputValue()).toBe("7d");
    await close();
  });

  it("keeps it in all views that have one, over views that have none", async () => {
    const at = new Date().toISOString();
    const run = { id: crypto.randomUUID(), name: "lookup", run_type: "chain", session_name: "ranged", inputs: {} };
    await post("/runs/batch", { post: [{ ...run, start_time: at, end_time: at }], patch: [] });
    const { page, close } = await visit(stage, { path: "/" });
    const pages = page.getByRole("navigation", { name: "Pages" });
    const range = page.getByLabel("Time range");
    let asked = "";
    page.on("request", (request) => (asked += ` ${request.url()} ${request.postData() ?? ""}`));
    const findWeekAgo = () => new Date(Date.now() - 7 * 86_400_000).toISOString().slice(0, 10);
    const days = [findWeekAgo()];
    const expectWeek = (name: string) =>
      expect.poll(() => [...days, findWeekAgo()].some((day) => asked.includes(day)), { message: name }).toBe(true);
    await range.selectOption("7d");
    await expectWeek("Overview");
    const go = async (name: string) => {
      await pages.getByRole("link", { name, exact: true }).click();
      await page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
    };
    for (const name of ["Traces", "Usage and cost", "Audit log"]) {
      await go("Prompts");
      asked = "";
      await go(name);
      await expect.poll(() => range.inputValue(), { message: name }).toBe("7d");
      await expectWeek(name);
    }
    for (const name of ["Threads", "Overview"]) {
      await go(name);
      await expect.poll(() => range.inputValue(), { message: name }).toBe("7d");
    }
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog", { name: "Go to" }).getByRole("combobox").fill("Runs");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/console/runs?range=7d");
    await close();
  });

  it("opens everything by name", async () => {
    const { page, troubles, close } = await visit(stage);
    await say(page, "Hello from the winter palette");
    await page.waitForURL("**/chat/*");
    await waitUntilSettled(page);
    const thread = page.url();
    // The shortcut works while a person types.
    await findComposer(page).focus();
    await page.keyboard.press("Control+k");
    const palette = page.getByRole("dialog", { name: "Go to" });
    await palette.waitFor();
    expect(await findingsInBothThemes(page)).toEqual([]);
    await page.keyboard.type("Threads");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Threads" }).waitFor();
    await page.getByRole("row", { name: /winter palette/ }).waitFor();
    expect(await findingsInBothThemes(page)).toEqual([]);

    await page.keyboard.press("Control+k");
    await page.keyboard.type("winter palette");
    await page.keyboard.press("Enter");
    await page.waitForURL(thread);
    await page.keyboard.press("Control+k");
    const id = crypto.randomUUID();
    await palette.getByRole("combobox").fill(id);
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/traces/${id}`);
    expect(troubles).toEqual([]);
    await close();
  });

  it("says where the page is: the workspace, the caller, the server and its version", async () => {
    const { page, close } = await visit(stage, { path: "/console/threads" });
    const me = await get<{ workspace: { id: string; name: string | null } }>("/api/v1/me");
    const { weir_version } = await get<{ weir_version: string }>("/info");
    const place = page.getByRole("navigation", { name: "Pages" });
    await place.getByText(`local · ${weir_version}`).waitFor();
    expect(await place.locator("dd").allTextContents()).toEqual([
      me.workspace.name ?? me.workspace.id,
      `key ${stage.server.key.slice(0, 12)}…`,
      `local · ${weir_version}`,
    ]);
    await close();
  });

  it.each([1_000, 1_400])("says so in a rail, too, by pointer and keyboard, at %i px", async (width) => {
    const { page, close } = await visit(stage, { viewport: { width, height: 700 } });
    const { weir_version } = await get<{ weir_version: string }>("/info");
    const pages = page.getByRole("navigation", { name: "Pages" });
    const button = pages.getByRole("button", { name: "Workspace, caller and server" });
    const version = pages.getByText(`local · ${weir_version}`);
    await page.getByRole("navigation", { name: "Threads" }).waitFor();
    await expect.poll(() => button.getAttribute("title")).toContain(`Server: local · ${weir_version}`);
    expect(await version.isVisible()).toBe(false);
    await button.click();
    await version.waitFor();
    expect(await findings(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await version.waitFor({ state: "hidden" });
    await button.press("Enter");
    await version.waitFor();
    await page.keyboard.press("Escape");
    await pages.getByRole("link", { name: "Prompts" }).click();
    await page.getByRole("heading", { level: 1, name: "Prompts" }).waitFor();
    await version.waitFor();
    await pages.getByRole("button", { name: "Collapse the navigation" }).click();
    await button.click();
    await version.waitFor();
    await close();
  });

  it("has a link to the documentation, and folds help until it is opened", async () => {
    const { page, close } = await visit(stage, { path: "/console/keys" });
    const link = page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Documentation" });
    const [docs] = await Promise.all([page.waitForEvent("popup"), link.click()]);
    expect(new URL(docs.url()).pathname).toBe("/docs/");
    const help = page.getByRole("heading", { name: "Call with a key" });
    await page.getByText("Help and API").waitFor();
    expect(await help.isVisible()).toBe(false);
    await page.getByText("Help and API").press("Enter");
    await help.waitFor();
    await page.getByText("Help and API").click();
    await help.waitFor({ state: "hidden" });
    await close();
  });

  it("does by name what the frame does", async () => {
    const { page, troubles, close } = await visit(stage, { path: "/console/threads" });
    const find = page.getByRole("dialog", { name: "Go to" }).getByRole("combobox");
    const act = async (words: string) => {
      await page.keyboard.press("Control+k");
      await find.fill(words);
      await page.keyboard.press("Enter");
      await find.waitFor({ state: "detached" });
    };
    await act("dark theme");
    expect(await page.locator("html").getAttribute("data-theme")).toBe("dark");
    await page.getByRole("button", { name: "Theme: dark" }).waitFor();
    const docs = page.waitForEvent("popup");
    await act("documentation");
    expect(new URL((await docs).url()).pathname).toBe("/docs/");
    await act("create an api key");
    await page.waitForURL("**/console/keys/new");
    await page.getByRole("dialog", { name: "New API key" }).waitFor();
    await page.keyboard.press("Escape");
    await act("sign out");
    await page.getByLabel("API key").waitFor();
    expect(troubles).toEqual([]);
    await close();
  });

  it("distinguishes threads of one title, and lists names before contents", async () => {
    const named = await post("/threads", { metadata: { title: "walrus" } });
    const other = await createThread("about the walrus");
    await post(`/threads/${other}`, { metadata: { title: "another" } }, "PATCH");
    const { page, close } = await visit(stage);
    const palette = page.getByRole("dialog", { name: "Go to" });
    await page.keyboard.press("Control+k");
    await palette.getByRole("combobox").fill("walrus");
    await palette.getByRole("option", { name: /^another.*echo · now/ }).waitFor();
    const found = await palette.getByRole("option").allTextContents();
    expect(found[0]).toMatch(/^walrus/);
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/chat/${named.thread_id}`);
    await close();
  });

  it("hides threads of crons in the list of the chat behind a button", async () => {
    await post("/threads", { metadata: { title: "nightly firing", cron_id: crypto.randomUUID() } });
    await post("/threads", { metadata: { title: "by a person" } });
    const { page, close } = await visit(stage);
    const threads = page.getByRole("navigation", { name: "Threads" });
    await threads.getByRole("link", { name: /by a person/ }).waitFor();
    expect(await threads.getByRole("link", { name: /nightly firing/ }).count()).toBe(0);
    await threads.getByRole("button", { name: /^Show threads of crons/ }).click();
    await threads.getByRole("link", { name: /nightly firing/ }).waitFor();
    await close();
  });

  it("has the navigation as a rail beside the threads, until it is expanded", async () => {
    const { page, close } = await visit(stage);
    const pages = page.getByRole("navigation", { name: "Pages" });
    await page.getByRole("navigation", { name: "Threads" }).waitFor();
    const width = async () => (await pages.boundingBox())?.width ?? 0;
    expect(await width()).toBeLessThan(60);
    await pages.getByRole("button", { name: "Expand the navigation" }).click();
    await checkEventually(width, (wide) => expect(wide).toBeGreaterThan(150));
    await page.reload();
    await page.getByRole("navigation", { name: "Threads" }).waitFor();
    expect(await width()).toBeGreaterThan(150);
    await close();
  });

  it.each([
    [1_000, false],
    [1_400, true],
  ])("offers to expand it only where there is room: %i px", async (width, room) => {
    const { page, close } = await visit(stage, { viewport: { width, height: 700 } });
    const pages = page.getByRole("navigation", { name: "Pages" });
    const threads = page.getByRole("navigation", { name: "Threads" });
    const expand = pages.getByRole("button", { name: "Expand the navigation" });
    await threads.waitFor();
    expect(await expand.count()).toBe(room ? 1 : 0);
    if (!room) await page.getByRole("button", { name: "Hide the threads" }).click();
    await expand.click();
    await checkEventually(
      async () => (await pages.boundingBox())?.width ?? 0,
      (wide) => expect(wide).toBeGreaterThan(150),
    );
    await close();
  });

  it("shows 40 characters of a title beside the rail", async () => {
    const title = "Refund for the order from Turin in March";
    await post("/threads", { metadata: { title } });
    const { page, close } = await visit(stage);
    const shown = page.getByRole("navigation", { name: "Threads" }).getByText(title);
    await shown.waitFor();
    expect(title.length).toBe(40);
    const hidden = await shown.evaluate((node) => {
      const box = node as unknown as Record<`${"scroll" | "client"}${"Width" | "Height"}`, number>;
      return [box.scrollWidth - box.clientWidth, box.scrollHeight - box.clientHeight];
    });
    expect(hidden).toEqual([0, 0]);
    await close();
  });

  it("opens threads and traces that no list has loaded by the words in them", async () => {
    const thread = await createThread("the giraffe is tall");
    // The list has the newest fifty.
    for (let i = 0; i < 51; i += 1) await post("/threads", { metadata: { title: `filler ${i}` } });
    const trace = crypto.randomUUID();
    const at = new Date().toISOString();
    const run = { id: trace, trace_id: trace, name: "lookup", run_type: "chain", session_name: "zoo" };
    await post("/runs/batch", {
      post: [{ ...run, start_time: at, end_time: at, inputs: { q: "okapi habits" } }],
      patch: [],
    });
    const { page, troubles, close } = await visit(stage);
    await page
      .getByRole("link", { name: /filler/ })
      .nth(40)
      .waitFor();
    const palette = page.getByRole("dialog", { name: "Go to" });
    const find = palette.getByRole("combobox");
    await page.keyboard.press("Control+k");
    await find.fill("is tall");
    await palette.getByRole("option", { name: /^the giraffe is tall/ }).click();
    await page.waitForURL(`**/chat/${thread}`);
    await page.keyboard.press("Control+k");
    await find.fill("okapi");
    await palette.getByRole("option", { name: /lookup/ }).click();
    await page.waitForURL(`**/traces/${trace}?project=*`);
    await page.getByRole("treeitem", { name: /lookup/ }).waitFor();
    await page.keyboard.press("Control+k");
    await find.fill("in no thread or trace");
    await palette.getByText("No page, thread, trace, assistant or project has these words.").waitFor();
    expect(troubles).toEqual([]);
    await close();
  });

  it("fits a phone: the menu is a sheet, with the threads first in the chat", async () => {
    const { page, close } = await visit(stage, { ...PHONE, path: "/console/threads" });
    // Until the view is there its outline has a button of this name, which the view replaces.
    await page.getByLabel("Time range").waitFor();
    await page.getByRole("button", { name: "Open the menu" }).click();
    const sheet = page.getByRole("dialog", { name: "Pages" });
    await sheet.getByRole("link", { name: "Threads" }).waitFor();
    await expectNoSidewaysScroll(page);
    expect(await findings(page)).toEqual([]);
    await sheet.getByRole("link", { name: "Chat" }).click();
    await sheet.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Show the threads" }).click();
    await page.getByRole("dialog", { name: "Threads" }).getByRole("button", { name: "All pages" }).click();
    await page.getByRole("dialog", { name: "Pages" }).getByRole("link", { name: "Traces" }).click();
    await page.waitForURL("**/traces");
    await close();
  });

  it("keeps the focus on the content when the view arrives after the skip link was used", async () => {
    const { page, close } = await visit(stage, { path: "/console/nothing" });
    let arrive = () => {};
    const asked = new Promise<void>((resolve) => (arrive = resolve));
    await page.route("**/assets/Threads-*.js", async (route) => {
      await asked;
      await route.continue();
    });
    await page.goto(`${stage.server.url}/console/threads`);
    await page.getByRole("heading", { level: 1, name: "Threads" }).waitFor();
    await page.getByRole("link", { name: "To the content" }).focus();
    await page.keyboard.press("Enter");
    arrive();
    await page.getByLabel("Time range").waitFor();
    await waitForFocus(page, page.locator("#content"));
    expect(new URL(page.url()).hash).toBe("#content");
    await close();
  });

  it("leads from the skip link to the content", async () => {
    const { page, close } = await visit(stage, { path: "/console/threads" });
    await page.getByRole("heading", { level: 1, name: "Threads" }).waitFor();
    await page.keyboard.press("Tab");
    await waitForFocus(page, page.getByRole("link", { name: "To the content" }));
    await page.keyboard.press("Enter");
    await waitForFocus(page, page.locator("#content"));
    expect(new URL(page.url()).hash).toBe("#content");
    await close();
  });

  const get = async <T>(path: string): Promise<T> =>
    (await fetch(stage.server.url + path, { headers: stage.server.headers })).json<T>();

  async function post(path: string, body: unknown, method = "POST"): Promise<{ thread_id: string }> {
    const headers = { ...stage.server.headers, "content-type": "application/json" };
    const answer = await fetch(stage.server.url + path, { method, headers, body: JSON.stringify(body) });
    expect(answer.status).toBeLessThan(300);
    return answer.json<{ thread_id: string }>();
  }

  /** A thread on which the echo has answered this. */
  async function createThread(content: string): Promise<string> {
    const { thread_id } = await post("/threads", {});
    await post(`/threads/${thread_id}/runs/wait`, {
      assistant_id: "echo",
      input: { messages: [{ role: "user", content }] },
    });
    return thread_id;
  }
});
