import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { sendTrace } from "../support/sdk-trace.ts";
import { sharedServer } from "../support/shared-server.ts";
import {
  browserHere,
  choose,
  checkEventually,
  expectAnswer,
  expectNoSidewaysScroll,
  findings,
  findingsInBothThemes,
  waitForFocus,
  log,
  onStage,
  PHONE,
  say,
  waitUntilSettled,
  strip,
  visit,
} from "./page.ts";

const list = (page: Page) => page.getByRole("table", { name: "Traces" });
/** The rows of the list, without its head. */
const findRows = (page: Page) => list(page).locator("tbody tr[data-key]");
const tree = (page: Page) => page.getByRole("tree");
const row = (page: Page, name: RegExp) => tree(page).getByRole("treeitem", { name }).first();
const heading = (page: Page, name: string) => page.getByRole("heading", { level: 2, name });
const output = (page: Page) => page.getByRole("region", { name: "Output", exact: true }).first();

describe.runIf(browserHere)("traces in the browser", () => {
  const stage = onStage(() => sharedServer("graphs"));

  const send = (project: string, name: string, text = "fine", failed = false) =>
    sendTrace(stage.server, { project, name, text, failed });

  it("shows how to send traces when there are none", async () => {
    const { page, close } = await visit(stage);
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Traces" }).click();
    await page.getByText(`LANGSMITH_ENDPOINT=${stage.server.url}`).waitFor();
    expect(await findings(page)).toEqual([]);
    await close();
  });

  it("shows what a run of the chat did, and keeps its place over a reload", async () => {
    const { page, troubles, close } = await visit(stage);
    await choose(page, "agent");
    await say(page, "What is 17 * 24?");
    await expectAnswer(page, "17 * 24 = 408.");
    await waitUntilSettled(page);
    const chat = page.url();
    await log(page).getByRole("link", { name: "Trace" }).click();
    await row(page, /^agent chain/).waitFor();
    await heading(page, "agent").waitFor();
    await output(page).getByText("17 * 24 = 408.").waitFor();
    expect(await row(page, /llm/).getAttribute("aria-level")).not.toBe("1");

    await row(page, /^calculator tool/).click();
    await heading(page, "calculator").waitFor();
    await output(page).getByText("408").first().waitFor();
    await page.reload();
    await heading(page, "calculator").waitFor();
    expect(await row(page, /^calculator tool/).getAttribute("aria-selected")).toBe("true");
    expect(await findings(page)).toEqual([]);

    await row(page, /llm/).click();
    await page.getByRole("region", { name: "Output" }).getByText("Calls calculator").waitFor();
    const roles = (name: string) => page.getByRole("region", { name, exact: true }).getByRole("heading", { level: 4 });
    expect(await roles("Input").allTextContents()).toContain("User");
    expect(await roles("Output").textContent()).toBe("Assistant");
    await page.getByRole("link", { name: "Open thread" }).click();
    await page.waitForURL(chat);
    await expectAnswer(page, "17 * 24 = 408.");
    expect(troubles).toEqual([]);
    await close();
  });

  it("leads from a run that failed to where it failed", async () => {
    const { page, close } = await visit(stage);
    await choose(page, "actor");
    await say(page, "fail");
    await page.getByText("The run failed here.").waitFor();
    await log(page).getByRole("link", { name: "Trace" }).click();
    await row(page, /^failed act chain/).click();
    await page.getByRole("region", { name: "Error" }).getByText("It broke.").first().waitFor();
    expect(await findings(page)).toEqual([]);
    await close();
  });

  it("moves in the tree by keyboard", async () => {
    const id = await send("keys", "by_hand", "found");
    const { page, close } = await visit(stage, { path: `/traces/${id}` });
    await row(page, /^by_hand chain 2\.00 s/).focus();
    await page.keyboard.press("ArrowDown");
    await waitForFocus(page, row(page, /^look_up tool/));
    await heading(page, "look_up").waitFor();
    await page.keyboard.press("ArrowLeft");
    await waitForFocus(page, row(page, /^by_hand/));
    await page.keyboard.press("ArrowLeft");
    await row(page, /^look_up/).waitFor({ state: "detached" });
    expect(await row(page, /^by_hand/).getAttribute("aria-expanded")).toBe("false");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("End");
    await waitForFocus(page, row(page, /^look_up tool/));
    await row(page, /^by_hand/)
      .locator("[data-twist]")
      .click();
    await row(page, /^look_up/).waitFor({ state: "detached" });
    await close();
  });

  it("lists a project's traces, the failed ones alone, and what words and filters find", async () => {
    await send("listed", "went_well");
    await send("listed", "went_wrong", "Error: no such key\n    at somewhere", true);
    const { page, close } = await visit(stage, { path: "/traces" });
    await page.getByLabel("Project").selectOption("listed");
    const rows = findRows(page);
    await checkEventually(
      () => rows.allTextContents(),
      (texts) => expect(texts.map((text) => /went_\w{4,5}/.exec(text)?.[0])).toHaveLength(2),
    );
    await rows.filter({ hasText: "went_well" }).getByText("What now?").waitFor();
    expect(await findings(page)).toEqual([]);

    const failed = page.getByRole("button", { name: "Failed only" });
    await failed.click();
    await rows.filter({ hasText: "went_well" }).waitFor({ state: "detached" });
    await rows.getByText("Error: no such key").waitFor();
    await page.reload();
    await rows.waitFor();
    expect(await failed.getAttribute("aria-pressed")).toBe("true");
    await failed.click();
    await rows.filter({ hasText: "went_well" }).waitFor();

    const search = page.getByLabel("Words or a filter");
    await search.fill("eq(name, ");
    await search.press("Enter");
    const fault = page.getByRole("alert");
    await fault.getByText("position").waitFor();
    expect(await fault.locator("mark").count()).toBe(1);
    await waitForFocus(page, search);
    // A fault keeps the list.
    expect(await rows.count()).toBe(2);
    expect(await findings(page)).toEqual([]);

    await search.fill("no such key");
    await search.press("Enter");
    await rows.filter({ hasText: "went_well" }).waitFor({ state: "detached" });
    expect(await rows.count()).toBe(1);
    await page.getByRole("button", { name: "Remove “no such key”" }).click();
    await search.fill('eq(name, "absent")');
    await search.press("Enter");
    await page.getByText("No traces match this filter.").waitFor();
    await page.getByRole("button", { name: "Clear filters" }).click();
    await search.fill('eq(name, "went_wrong")');
    await search.press("Enter");
    await rows.filter({ hasText: "went_well" }).waitFor({ state: "detached" });
    await rows.getByRole("link").click();
    await row(page, /^failed look_up tool/).click();
    await page.getByRole("region", { name: "Error" }).getByText("at somewhere").first().waitFor();
    expect(await page.getByRole("link", { name: "Open thread" }).count()).toBe(0);
    await page.goBack();
    await page.getByRole("button", { name: 'eq(name, "went_wrong")', exact: true }).waitFor();
    await close();
  });

  it("shows the fault of a filter in the address, and a way out", async () => {
    await send("faulty", "one");
    const { page, close } = await visit(stage, { path: "/traces?filter=eq(name" });
    await page.getByText("The filter of this address has a fault.").waitFor();
    await page.getByRole("button", { name: "Clear filters" }).click();
    await findRows(page).first().waitFor();
    expect(page.url()).not.toContain("filter");
    await close();
  });

  it("fits a phone, and has no serious finding of axe", async () => {
    const id = await send("phone", "a_rather_long_name_of_a_graph_that_its_user_gave_it", "Error: no", true);
    const { page, close } = await visit(stage, { ...PHONE, path: `/traces/${id}` });
    await page.getByRole("region", { name: "Error" }).first().waitFor();
    await page.getByText("Ada", { exact: true }).waitFor();
    await expectNoSidewaysScroll(page);
    // What a program set is in view, what the platform adds is folded.
    const threadId = page.getByText("a thread of somewhere else");
    expect(await threadId.isVisible()).toBe(false);
    await page.getByText(/^Metadata of the platform/).click();
    expect(await threadId.isVisible()).toBe(true);
    expect(await findingsInBothThemes(page)).toEqual([]);
    await page.getByRole("main").getByRole("link", { name: "Traces" }).click();
    await findRows(page)
      .filter({ hasText: /a_rather_long.*What now\?.*Start: .*Latency: 2\.00 s/ })
      .first()
      .waitFor();
    await expectNoSidewaysScroll(page);
    expect(await findingsInBothThemes(page)).toEqual([]);
    // A chosen trace takes the place of the list: half of the screen shows neither.
    await page.keyboard.press("j");
    const chosen = page.getByRole("complementary", { name: /^Trace / });
    await chosen.waitFor();
    expect((await chosen.boundingBox())?.width).toBe(page.viewportSize()?.width);
    await page.keyboard.press("Escape");
    await findRows(page).first().waitFor();
    await close();
  });

  it("has words for a trace that is not there, and paths of the API stay paths of the API", async () => {
    const { page, close } = await visit(stage, { path: `/traces/${crypto.randomUUID()}` });
    await page.getByText("No trace with this id in this workspace.").waitFor();
    await close();
    for (const path of ["/api/v1/traces", "/api/v2/traces/none/at-all"]) {
      const unknown = await fetch(stage.server.url + path, { headers: stage.server.headers });
      expect([unknown.status, unknown.headers.get("content-type")]).toEqual([404, "application/problem+json"]);
    }
  });

  it("has no link where nothing is traced", async () => {
    const headers = { ...stage.server.headers, "content-type": "application/json" };
    const call = (path: string, body: unknown) =>
      fetch(stage.server.url + path, { method: "POST", headers, body: JSON.stringify(body) });
    const { thread_id } = await (
      await call("/threads", { metadata: { graph_id: "agent" } })
    ).json<{ thread_id: string }>();
    const messages = [{ type: "ai", id: "a1", content: "Said by hand" }];
    await call(`/threads/${thread_id}/state`, { values: { messages }, as_node: "agent" });
    const { page, close } = await visit(stage, { path: `/chat/${thread_id}` });
    await expectAnswer(page, "Said by hand");
    await strip(page).waitFor();
    await log(page).getByRole("button", { name: "Copy answer" }).waitFor();
    expect(await log(page).getByRole("link", { name: "Trace" }).count()).toBe(0);
    await close();
  });
});
