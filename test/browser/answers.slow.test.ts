/** A question that is answered by a link: its page, for people without an account, and the card in the chat. */
import type { BrowserContextOptions, Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { startServer, withTestGraphs } from "../support/server.ts";
import {
  browserHere,
  choose,
  expectAnswer,
  expectNoSidewaysScroll,
  findings,
  findingsInBothThemes,
  hold,
  log,
  onStage,
  PHONE,
  readShownId,
  say,
  waitUntilSettled,
  visit,
} from "./page.ts";

interface Asked {
  thread: string;
  url: string;
}

describe.runIf(browserHere)("a question that is answered by a link", () => {
  const stage = onStage(() => startServer({ OFFLINE_MODEL_DELAY_MS: "5" }, withTestGraphs()));

  async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const headers = { ...stage.server.headers, "content-type": "application/json" };
    const answer = await fetch(`${stage.server.url}${path}`, { method, headers, body: JSON.stringify(body) });
    expect([path, answer.ok]).toEqual([path, true]);
    return answer.json<T>();
  }

  const linkTo = async (thread: string, body: object = { name: "Ana" }): Promise<string> => {
    const { interrupts } = await call<{ interrupts: Record<string, { id: string }[]> }>("GET", `/threads/${thread}`);
    const [question] = Object.values(interrupts).flat();
    return (await call<{ url: string }>("POST", `/threads/${thread}/interrupts/${question?.id}/links`, body)).url;
  };

  async function ask(assistant_id = "approval", content = "Write to ada@example.com that it is green"): Promise<Asked> {
    const { thread_id: thread } = await call<{ thread_id: string }>("POST", "/threads", {});
    const input = { messages: [{ role: "user", content }] };
    await call("POST", `/threads/${thread}/runs/wait`, { assistant_id, input });
    return { thread, url: await linkTo(thread) };
  }

  /** The last message of the thread, when it has ended. */
  async function waitForEnd(thread: string): Promise<string> {
    const read = () =>
      call<{ status: string; values: { messages: { content: string }[] } }>("GET", `/threads/${thread}`);
    await expect.poll(async () => (await read()).status, { timeout: 30_000 }).toBe("idle");
    return (await read()).values.messages.at(-1)?.content ?? "";
  }

  /** Without a credential of any kind. */
  async function open(
    url: string,
    options: BrowserContextOptions = {},
  ): Promise<{ page: Page; close: () => Promise<void> }> {
    const context = await stage.browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
    const page = await context.newPage();
    await page.goto(url);
    return { page, close: () => context.close() };
  }

  it("is approved on its page, and whoever comes second sees who was first", async () => {
    const { thread, url } = await ask();
    const second = await linkTo(thread, { name: "Bo" });
    const { page, close } = await open(url);
    await page.getByRole("heading", { name: "The agent needs your decision" }).waitFor();
    await page.getByText("This link was made for Ana.").waitFor();
    expect(await findingsInBothThemes(page)).toEqual([]);
    const late = await open(second);
    await page.getByRole("button", { name: "Approve", exact: true }).click();
    await page.getByRole("heading", { name: "Thank you" }).waitFor();
    expect(await findings(page)).toEqual([]);
    expect(await waitForEnd(thread)).toContain("Sent to ada@example.com.");
    // The form that was open, the same link again, and the other link.
    await late.page.getByRole("button", { name: "Reject" }).click();
    for (const reload of [undefined, url, second]) {
      if (reload !== undefined) await late.page.goto(reload);
      await late.page.getByRole("heading", { name: "This question is answered" }).waitFor();
      await late.page.getByText(/^Answered by link for Ana, \d+ \w+ \d{4}, \d\d:\d\d UTC\.$/).waitFor();
    }
    expect(await findings(late.page)).toEqual([]);
    await Promise.all([close(), late.close()]);
  });

  it("is approved with changed arguments, on a phone and without a script", async () => {
    const { thread, url } = await ask();
    const { page, close } = await open(url, { ...PHONE, javaScriptEnabled: false });
    const fields = page.getByRole("textbox", { name: "Arguments (JSON)" });
    await fields.fill("{ not JSON");
    await page.getByRole("button", { name: "Approve with these arguments" }).click();
    await page.getByRole("alert").getByText("The arguments of send_email are not JSON.").waitFor();
    expect(await fields.inputValue()).toContain("{ not JSON");
    await fields.fill('{"to":"bob@example.com","subject":"Build","body":"It is green."}');
    await page.getByRole("button", { name: "Approve with these arguments" }).click();
    await page.getByRole("heading", { name: "Thank you" }).waitFor();
    expect(await waitForEnd(thread)).toContain("Sent to bob@example.com.");
    await close();
  });

  it("is rejected with a reason", async () => {
    const { thread, url } = await ask();
    const { page, close } = await open(url, PHONE);
    await expectNoSidewaysScroll(page);
    expect(await findings(page)).toEqual([]);
    await page.getByRole("textbox", { name: /^Message/ }).fill("too early");
    await page.getByRole("button", { name: "Reject" }).click();
    await page.getByRole("heading", { name: "Thank you" }).waitFor();
    expect(await waitForEnd(thread)).toContain("too early");
    await close();
  });

  it("is answered in words", async () => {
    const { thread, url } = await ask("actor", "ask");
    const { page, close } = await open(url, { ...PHONE, javaScriptEnabled: false });
    await page.getByText("Which one?").waitFor();
    await page.getByRole("textbox", { name: "Your answer" }).fill("the blue one");
    await page.getByRole("button", { name: "Send the answer" }).click();
    await page.getByRole("heading", { name: "Thank you" }).waitFor();
    expect(await waitForEnd(thread)).toBe('You chose "the blue one".');
    await close();
  });

  it("has a link in the card of the chat, which then says who has answered", async () => {
    const { page, troubles, close } = await visit(stage, { permissions: ["clipboard-read", "clipboard-write"] });
    await choose(page, "approval");
    await say(page, "Write to ada@example.com that the build is green");
    const card = log(page).getByRole("region", { name: "Waiting for you" });
    await card.getByRole("button", { name: "Copy link to answer" }).click();
    await card
      .getByRole("status")
      .getByText(/^Copied\. Who has the link can answer until /)
      .waitFor();
    expect(await findings(page)).toEqual([]);
    const url = await page.evaluate<string>("navigator.clipboard.readText()");
    const answering = await open(url);
    await answering.page.getByRole("button", { name: "Approve", exact: true }).click();
    await answering.page.getByRole("heading", { name: "Thank you" }).waitFor();
    await expectAnswer(page, "Sent to ada@example.com.");
    await waitUntilSettled(page);
    await log(page).getByText("Approved send_email, by link").waitFor();
    expect(await card.count()).toBe(0);
    expect(troubles).toEqual([]);
    await Promise.all([close(), answering.close()]);
  });

  it("shows the address where it cannot be copied, on a phone", async () => {
    const { page, close } = await visit(stage, PHONE);
    await page.evaluate("navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed'))");
    await choose(page, "approval");
    await say(page, "Write to ada@example.com that the build is green");
    const card = log(page).getByRole("region", { name: "Waiting for you" });
    await card.getByRole("button", { name: "Copy link to answer" }).click();
    const address = await card.getByRole("textbox", { name: "Link to answer" }).inputValue();
    expect(address).toContain(`${stage.server.url}/api/v1/answers/`);
    await expectNoSidewaysScroll(page);
    expect(await findings(page)).toEqual([]);
    await close();
  });

  it("says who was first to whoever answers second in the chat", async () => {
    const { page, close } = await visit(stage);
    await choose(page, "approval");
    await say(page, "Write to ada@example.com that the build is green");
    const card = log(page).getByRole("region", { name: "Waiting for you" });
    await card.getByRole("button", { name: "Approve send_email" }).waitFor();
    const thread = readShownId(page);
    const release = await hold(page, (url) => url.pathname.endsWith("/commands"));
    await card.getByRole("button", { name: "Approve send_email" }).click();
    const answering = await open(await linkTo(thread));
    await answering.page.getByRole("button", { name: "Reject" }).click();
    await answering.page.getByRole("heading", { name: "Thank you" }).waitFor();
    release();
    await log(page).getByRole("alert").getByText("Answered by link for Ana").waitFor();
    await log(page).getByText("Ana rejected send_email, by link").waitFor();
    expect(await log(page).getByText("You approved").count()).toBe(0);
    await waitUntilSettled(page);
    expect(await page.getByText(/run failed/).count()).toBe(0);
    await say(page, "Hello");
    await expectAnswer(page, "You said");
    expect(await log(page).getByRole("alert").count()).toBe(0);
    await Promise.all([close(), answering.close()]);
  });

  it("has no link for those whose role starts no runs", async () => {
    const { thread } = await ask();
    const { page, close } = await visit(stage, { path: `/chat/${thread}` });
    await log(page).getByRole("button", { name: "Copy link to answer" }).waitFor();
    await page.route("**/api/v1/me", async (route) => {
      const answer = await route.fetch();
      const me = await answer.json();
      await route.fulfill({ response: answer, json: { ...me, permissions: ["threads.read", "assistants.read"] } });
    });
    await page.reload();
    await page.getByPlaceholder("Your role starts no runs").waitFor();
    expect(await page.getByRole("button", { name: "Copy link to answer" }).count()).toBe(0);
    await close();
  });
});
