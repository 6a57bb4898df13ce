import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type FakeOpenAI, startFakeOpenAI } from "../support/fake-openai.ts";
import { startServer } from "../support/server.ts";
import { callAs } from "../support/workspace.ts";
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

describe.runIf(browserHere)("the threads and turns of a conversation in the browser", () => {
  const stage = onStage(() => startServer({ OFFLINE_MODEL_DELAY_MS: "15" }));

  it("folds the list of threads by shortcut while the composer has the focus", async () => {
    const { page, close } = await visit(stage);
    await findComposer(page).focus();
    const threads = page.getByRole("searchbox", { name: "Search threads" });
    await threads.waitFor();
    await page.keyboard.press("Control+b");
    await threads.waitFor({ state: "detached" });
    await waitForFocus(page, findComposer(page));
    await page.keyboard.press("Control+b");
    await threads.waitFor();
    await waitForFocus(page, findComposer(page));
    expect(await threads.isVisible()).toBe(true);
    await close();
  });

  it("begins a new chat with the default assistant, then with the last used, never with the newest", async () => {
    const { url, headers } = stage.server;
    const created: string[] = [];
    const create = async (name: string, graph_id: string) => {
      const answer = await fetch(`${url}/assistants`, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify({ name, graph_id }),
      });
      created.push((await answer.json<{ assistant_id: string }>()).assistant_id);
    };
    await create("Newest echo", "echo");
    await create("Newest agent", "agent");
    const { page, close } = await visit(stage);
    const expectAssistant = (name: string) =>
      page.getByRole("button", { name: new RegExp(`^Assistant: ${name}`) }).waitFor();
    await expectAssistant("agent");
    await choose(page, "approval");
    await say(page, "Hello");
    await expectAnswer(page, "You said");
    await waitUntilSettled(page);
    await create("Newest of all", "agent");
    for (const open of [
      () => page.getByRole("button", { name: "New thread" }).click(),
      () => page.goto(`${url}/chat`),
    ]) {
      await open();
      await page.waitForURL("**/chat");
      await findComposer(page).waitFor();
      await expectAssistant("approval");
    }
    await close();
    for (const id of created) await fetch(`${url}/assistants/${id}`, { method: "DELETE", headers });
  });

  it("queues what is written during a run", async () => {
    const { page, close } = await visit(stage);
    await choose(page, "agent");
    await say(page, "count to 80");
    await expectAnswer(page, " 10 ");
    await say(page, "Hello");
    await page.getByRole("list", { name: "Queued messages" }).getByText("Hello").waitFor();
    await expectAnswer(page, "message 2 of this conversation");
    await waitUntilSettled(page);
    expect(await answers(page).first().textContent()).toBe(listNumbers(80));
    await close();
  });

  it("renames and deletes a thread of the list by keyboard", async () => {
    const thread = await createThread(1, "to rename");
    const { page, troubles, close } = await visit(stage, { path: `/chat/${thread}` });
    await page.getByRole("button", { name: "More about to rename 0" }).focus();
    await page.keyboard.press("Enter");
    await waitForFocus(page, page.getByRole("menuitem", { name: "Rename" }));
    await page.keyboard.press("Escape");
    const more = page.getByRole("button", { name: "More about to rename 0" });
    await waitForFocus(page, more);
    await page.keyboard.press("Enter");
    await page.getByRole("menuitem", { name: "Rename" }).click();
    await waitForFocus(page, page.getByRole("textbox", { name: "Title of the thread" }));
    await page.keyboard.type("A new name");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "A new name" }).waitFor();
    await page.getByRole("button", { name: "More about A new name" }).click();
    await page.getByRole("menuitem", { name: "Delete…" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Delete thread" }).click();
    await page.getByRole("link", { name: "A new name" }).waitFor({ state: "detached" });
    await page.waitForURL("**/chat");
    expect(troubles).toEqual([]);
    await close();
  });

  it("shows a short run that the API made on the thread in view", async () => {
    const thread = await createThread(1);
    const { page, close } = await visit(stage, { path: `/chat/${thread}` });
    await expectAnswer(page, "message 0");
    await waitUntilSettled(page);
    await runOn(thread, "from elsewhere");
    await expectAnswer(page, "from elsewhere");
    await waitUntilSettled(page);
    expect(await log(page).getByRole("article").count()).toBe(2);
    await close();
  });

  it("edits a message on a branch of its own, and goes between the branches", async () => {
    const { page, close } = await visit(stage);
    await choose(page, "agent");
    for (const [i, text] of ["First", "Second"].entries()) {
      await say(page, text);
      await expectAnswer(page, `message ${i + 1} of`);
      await waitUntilSettled(page);
    }
    const second = log(page).getByRole("article").last();
    await second.getByRole("button", { name: "Edit message" }).click();
    await page.getByRole("textbox", { name: "Edit message" }).fill("Another");
    await page.getByRole("button", { name: "Send as new branch" }).click();
    await expectAnswer(page, 'You said: "Another"');
    await waitUntilSettled(page);
    await second.getByText("2 of 2").waitFor();
    await second.getByRole("button", { name: "Previous branch, 2 of 2" }).click();
    await page.waitForURL(/\?at=/);
    await second.getByText("Second", { exact: true }).waitFor();
    await strip(page).getByText("Branch 1 of 2").waitFor();

    await say(page, "Third");
    await checkEventually(
      () => log(page).getByRole("article").allTextContents(),
      (turns) => {
        expect(turns).toHaveLength(3);
        expect(turns[1]).toContain("Second");
        expect(turns[2]).toContain("message 3 of this conversation");
      },
    );
    await waitUntilSettled(page);
    await page.reload();
    await log(page).getByText("Third", { exact: true }).waitFor();
    expect(await log(page).getByText("Another", { exact: true }).count()).toBe(0);
    await close();
  });

  it("opens a settled thread without a run in view, and reads no values of its history", async () => {
    const thread = await createThread(30);
    const { page, close } = await visit(stage, { path: "/traces" });
    await page.evaluate(`
      window.seen = [];
      new MutationObserver(() => window.seen.push(document.querySelector("[data-strip]")?.textContent ?? ""))
        .observe(document.body, { childList: true, subtree: true, characterData: true });
    `);
    const sizes: number[] = [];
    page.on("response", (response) => {
      const request = response.request();
      if (!response.url().endsWith("/history") || !request.postData()?.includes("extract")) return;
      void response.body().then((body) => sizes.push(body.length));
    });
    await page.evaluate(`history.pushState(null, "", "/chat/${thread}")`);
    await answers(page).nth(29).waitFor();
    await log(page).getByRole("button", { name: "Edit message" }).last().waitFor();
    const seen = await page.evaluate<string[]>("window.seen");
    expect(seen.filter((text) => text.includes("Running"))).toEqual([]);
    // 30 runs of an echo write 90 checkpoints. With their values they are 450 KB.
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(100_000);
    await close();
  });

  it("finds threads that are not in the list by the words of their messages", async () => {
    await Promise.all(Array.from({ length: 55 }, (_, i) => createThread(1, `filler ${i}`)));
    const { page, close } = await visit(stage, { path: "/chat" });
    const threads = page.getByRole("link", { name: /Find the |filler|message 0/ });
    await threads.first().waitFor();
    await page.getByRole("searchbox", { name: "Search threads" }).fill("MESSAGE 29");
    await checkEventually(
      () => page.getByRole("link", { name: /message 0/ }).count(),
      (count) => expect(count).toBe(1),
    );
    expect(await page.getByRole("link", { name: /filler/ }).count()).toBe(0);
    await page.getByRole("searchbox", { name: "Search threads" }).fill("nowhere");
    await page.getByText("No thread contains “nowhere”.").waitFor();
    await page.getByRole("button", { name: "Clear search" }).click();
    await page
      .getByRole("link", { name: /filler/ })
      .first()
      .waitFor();
    await close();
  });

  it("sends attached images and files, shows them after a reload, and refuses what the assistant does not take", async () => {
    const { page, troubles, close } = await visit(stage, { path: "/chat" });
    await choose(page, "echo");
    const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const picker = page.locator('input[type="file"]');
    await picker.setInputFiles([
      { name: "dot.png", mimeType: "image/png", buffer: Buffer.from(pixel, "base64") },
      { name: "a.pdf", mimeType: "application/pdf", buffer: Buffer.from("%PDF-1.4") },
      { name: "a.zip", mimeType: "application/zip", buffer: Buffer.from("PK") },
    ]);
    await page
      .getByRole("alert")
      .getByText("“a.zip” is not attached. This assistant takes images and PDF files.")
      .waitFor();
    const attached = page.getByRole("list", { name: "Attachments" }).getByRole("listitem");
    expect(await attached.allTextContents()).toEqual(["dot.png", "a.pdf"]);
    await say(page, "What is this?");
    await expectAnswer(page, "You said: What is this?");
    await waitUntilSettled(page);
    const look = async () => {
      const image = log(page).getByRole("img", { name: "Attached image" });
      await image.waitFor();
      await checkEventually(
        () => page.evaluate('document.querySelector("[role=log] img").naturalWidth'),
        (width) => expect(width).toBe(1),
      );
      await log(page).getByRole("link", { name: "a.pdf" }).waitFor();
    };
    await look();
    await page.reload();
    await look();
    expect(await attached.count()).toBe(0);
    expect(troubles).toEqual([]);
    await close();
  });

  async function post(path: string, body: unknown): Promise<{ thread_id: string }> {
    const headers = { ...stage.server.headers, "content-type": "application/json" };
    const answer = await fetch(stage.server.url + path, { method: "POST", headers, body: JSON.stringify(body) });
    expect(answer.status).toBeLessThan(300);
    return answer.json<{ thread_id: string }>();
  }

  /** Runs the echo on a thread to its end. */
  const runOn = (thread: string, content: string) =>
    post(`/threads/${thread}/runs/wait`, {
      assistant_id: "echo",
      input: { messages: [{ role: "user", content }] },
    });

  /** A thread of this many runs of the echo, each of which says `text` and its number. */
  async function createThread(runs: number, text = "message"): Promise<string> {
    const { thread_id } = await post("/threads", { metadata: { graph_id: "echo" } });
    for (let i = 0; i < runs; i += 1) await runOn(thread_id, `${text} ${i}`);
    return thread_id;
  }
});

describe.runIf(browserHere)("the cost of answers in the browser", () => {
  let openai: FakeOpenAI;
  beforeAll(async () => {
    openai = await startFakeOpenAI(() => "Done.");
  });
  afterAll(() => openai.stop());
  const stage = onStage(() =>
    startServer({
      OPENAI_API_KEY: "key-of-the-tests",
      OPENAI_BASE_URL: openai.baseUrl,
      TRACE_PRICES: JSON.stringify([{ model: "gpt-.*", input: 1_000, output: 2_000 }]),
    }),
  );

  it("is shown where the model has a price, and is asked for once for all answers of a thread", async () => {
    const { page, close } = await visit(stage);
    await choose(page, "agent");
    const facts = log(page).getByText(/^\d.*m?s · \d+ tokens · \$\d/);
    for (const [i, question] of ["What is 17 * 24?", "Hello"].entries()) {
      await say(page, question);
      await facts.nth(i).waitFor();
      await waitUntilSettled(page);
    }
    const asked: string[][] = [];
    page.on("request", (request) => {
      if (!request.url().endsWith("/api/v1/runs/query")) return;
      asked.push((JSON.parse(request.postData() ?? "") as { id: string[] }).id);
    });
    await page.reload();
    await facts.nth(1).waitFor();
    const runs = await log(page)
      .getByRole("link", { name: "Trace" })
      .evaluateAll((links) => links.map((link) => (link as unknown as { href: string }).href.split("/").at(-1)));
    expect(asked).toEqual([runs]);
    const traces = await Promise.all(
      runs.map((run) => callAs<{ total_cost: string }>(stage.server, "GET", `/api/v1/runs/${run}`)),
    );
    const costs = traces.map(({ total_cost }) => `$${Number(total_cost).toFixed(2)}`);
    expect((await facts.allTextContents()).map((text) => text.split(" · ").at(-1))).toEqual(costs);
    await close();
  });
});
