import { describe, expect, it } from "vitest";
import { sharedServer } from "../support/shared-server.ts";
import {
  browserHere,
  checkEventually,
  expectNoSidewaysScroll,
  findings,
  findingsInBothThemes,
  onStage,
  PHONE,
  visit,
} from "./page.ts";

interface Checkpoint {
  checkpoint: { checkpoint_id: string };
}

describe.runIf(browserHere)("the threads of all users", () => {
  const stage = onStage(() => sharedServer());

  async function call<T>(path: string, body: unknown): Promise<T> {
    const headers = { ...stage.server.headers, "content-type": "application/json" };
    const answer = await fetch(stage.server.url + path, { method: "POST", headers, body: JSON.stringify(body) });
    expect(answer.status).toBeLessThan(300);
    return answer.json<T>();
  }

  async function talk(owner: string, ...said: string[]): Promise<string> {
    const { thread_id } = await call<{ thread_id: string }>("/threads", { metadata: { owner } });
    for (const content of said) {
      const input = { messages: [{ role: "user", content }] };
      await call(`/threads/${thread_id}/runs/wait`, { assistant_id: "agent", input });
    }
    return thread_id;
  }

  it("lists them with status, user, assistant and runs, and opens one", async () => {
    const thread = await talk("ada@example.com", "What is 2 + 3?", "What is 17 * 24?");
    const { page, troubles, close } = await visit(stage, { path: "/console/threads" });
    const row = page.getByRole("row", { name: /What is 2 \+ 3\?/ });
    await row.getByText("ada@example.com").waitFor();
    await row.getByRole("cell", { name: "agent", exact: true }).waitFor();
    await row.getByRole("cell", { name: "2", exact: true }).waitFor();
    expect(await findings(page)).toEqual([]);
    await row.getByRole("link").click();
    await page.waitForURL(`**/console/threads/${thread}`);
    await page.getByText("2 runs").waitFor();
    await page.getByRole("table", { name: "Checkpoints" }).getByRole("row").nth(2).waitFor();
    expect(troubles).toEqual([]);
    await close();
  });

  it("calls a thread without a title the same everywhere, by no id", async () => {
    const { thread_id } = await call<{ thread_id: string }>("/threads", {});
    const { page, close } = await visit(stage, { path: "/console/threads" });
    const link = page.locator(`a[href="/console/threads/${thread_id}"]`);
    await link.and(page.getByTitle(thread_id)).waitFor();
    expect(await link.textContent()).toBe("Untitled thread");
    await link.click();
    await page.getByRole("heading", { level: 1, name: "Untitled thread" }).waitFor();
    expect(await page.title()).toBe("Untitled thread · Weir");
    await page.goto(`${stage.server.url}/chat/${thread_id}`);
    const heading = page.getByRole("heading", { level: 1, name: "Untitled thread" });
    await heading.and(page.getByTitle(thread_id)).waitFor();
    expect(await page.title()).toBe("Untitled thread · Weir");
    const listed = page.locator(`a[href="/chat/${thread_id}"]`).getByTitle(thread_id);
    await listed.waitFor();
    expect(await listed.textContent()).toBe("Untitled thread");
    await close();
  });

  it("finds threads of any user by the words in them", async () => {
    await talk("ada@example.com", "the narwhal swims");
    await talk("grace@example.com", "something else");
    const { page, close } = await visit(stage, { path: "/console/threads" });
    const rows = page.getByRole("table", { name: "Threads" }).locator("tbody tr[data-key]");
    await rows.nth(1).waitFor();
    await page.getByLabel("Search threads").fill("narwhal");
    await checkEventually(
      () => rows.count(),
      (count) => expect(count).toBe(1),
    );
    await rows.getByText("the narwhal swims").waitFor();
    await page.getByLabel("Search threads").fill("in no thread");
    await page.getByText("No thread contains “in no thread”.").waitFor();
    expect(await findings(page)).toEqual([]);
    await close();
  });

  it("shows the state at a checkpoint and what it changed", async () => {
    const thread = await talk("grace@example.com", "What is 6 * 7?");
    const { page, troubles, close } = await visit(stage, { path: `/console/threads/${thread}` });
    const changes = page.getByRole("region", { name: "Changes since the previous checkpoint" });
    await changes.getByText("added").first().waitFor();
    await page.getByRole("region", { name: "State", exact: true }).first().getByText("6 * 7 = 42.").waitFor();
    expect(await findingsInBothThemes(page)).toEqual([]);
    const rows = page.getByRole("table", { name: "Checkpoints" }).locator("tbody tr");
    await rows.last().getByRole("button").click();
    await page.waitForURL(/checkpoint=/);
    const chosen = page.url();
    await page.reload();
    await changes.waitFor();
    expect(page.url()).toBe(chosen);
    expect(troubles).toEqual([]);
    await close();
  });

  it("shows added messages with their role and calls, and the words that changed in one", async () => {
    const thread = await talk("linus@example.com", "What is 9 * 9?");
    const history = await call<Checkpoint[]>(`/threads/${thread}/history`, { limit: 100 });
    const { page, troubles, close } = await visit(stage, { path: `/console/threads/${thread}` });
    const changes = page.getByRole("region", { name: "Changes since the previous checkpoint" });
    const added = changes.getByRole("listitem").filter({ hasText: "added" });
    await added.getByRole("heading", { name: "Assistant" }).first().waitFor();
    await added.getByText("9 * 9 = 81.").waitFor();
    expect(await changes.textContent()).not.toMatch(/"(content|type)"/);
    const calls = page.getByRole("region", { name: "Calls calculator" });
    const checkpoints = page.getByRole("table", { name: "Checkpoints" }).locator("tbody tr").getByRole("button");
    for (let i = 0; i < history.length && (await changes.locator(calls).count()) === 0; i++) {
      await checkpoints.nth(i).click();
      await page.waitForURL(new RegExp(`checkpoint=${history[i]?.checkpoint.checkpoint_id}`));
      await changes.waitFor();
    }
    await changes.locator(calls).getByText("9 * 9").waitFor();

    const { values } = history[0] as { values: { messages: { id: string; content: string }[] } } & Checkpoint;
    const last = values.messages.at(-1);
    const edited = { ...last, content: `${last?.content} Surely.` };
    await call(`/threads/${thread}/state`, { values: { messages: [edited] } });
    await page.goto(`${stage.server.url}/console/threads/${thread}`);
    const changed = changes.getByRole("listitem").filter({ hasText: "changed" });
    await changed.locator("ins").getByText("Surely.").waitFor();
    expect(await changed.locator("del").count()).toBe(0);
    // The sign says what the colour says.
    const sign = "getComputedStyle(document.querySelector('ins'), '::before').content";
    expect(await page.evaluate(sign)).toContain("+");
    expect(await findingsInBothThemes(page)).toEqual([]);
    expect(troubles).toEqual([]);
    await close();
  });

  it("writes a state as a new checkpoint, and says why one is refused", async () => {
    const thread = await talk("linus@example.com", "What is 1 + 1?");
    const before = await call<Checkpoint[]>(`/threads/${thread}/history`, { limit: 100 });
    const { page, close } = await visit(stage, { path: `/console/threads/${thread}` });
    await page.getByRole("button", { name: "Edit state" }).click();
    const values = page.getByLabel("Values to write");
    await values.fill("{");
    await page.getByRole("button", { name: "Write checkpoint" }).click();
    await page.getByRole("alert").waitFor();
    expect(await findings(page)).toEqual([]);
    await values.fill('{"messages": [{"role": "user", "content": "Written by hand"}]}');
    await page.getByRole("button", { name: "Write checkpoint" }).click();
    await page
      .getByRole("region", { name: "Changes since the previous checkpoint" })
      .getByText("Written by hand")
      .waitFor();
    const after = await call<Checkpoint[]>(`/threads/${thread}/history`, { limit: 100 });
    expect(after.length).toBe(before.length + 1);
    await page.getByRole("link", { name: "Fork in the chat" }).click();
    await page.waitForURL(`**/chat/${thread}?at=${after[0]?.checkpoint.checkpoint_id}`);
    await close();
  });

  it("fits a phone", async () => {
    const thread = await talk("ada@example.com", "What is 3 + 3?");
    const { page, close } = await visit(stage, { ...PHONE, path: "/console/threads" });
    await page
      .getByRole("row", { name: /What is 3 \+ 3\?.*Changed: .*Latency p50: \d/ })
      .first()
      .waitFor();
    await expectNoSidewaysScroll(page);
    expect(await findingsInBothThemes(page)).toEqual([]);
    await page.goto(`${stage.server.url}/console/threads/${thread}`);
    await page.getByRole("table", { name: "Checkpoints" }).waitFor();
    await page.getByText("added").first().waitFor();
    await expectNoSidewaysScroll(page);
    expect(await findings(page)).toEqual([]);
    await close();
  });
});
