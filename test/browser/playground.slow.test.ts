import { Client } from "langsmith";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type FakeModel, startFakeModel } from "../support/fake-model.ts";
import { sharedServer } from "../support/shared-server.ts";
import { callAs } from "../support/workspace.ts";
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

const column = (page: Page, number: number) => page.getByRole("region", { name: `Column ${number}`, exact: true });
const text = (page: Page, number: number) => page.getByLabel(`Text of message ${number}`, { exact: true });
const answer = (page: Page, number: number) => column(page, number).locator("[data-answer]");
const runAll = (page: Page) => page.getByRole("button", { name: "Run all" });
const expectSaid = (page: Page, number: number, said: string) =>
  checkEventually(
    () => answer(page, number).textContent(),
    (now) => expect(now).toContain(said),
  );

describe.runIf(browserHere)("the playground in the browser", () => {
  const stage = onStage(() => sharedServer());
  let model: FakeModel;
  beforeAll(async () => {
    model = await startFakeModel();
  });
  afterAll(() => model.stop());
  const newClient = () => new Client({ apiUrl: stage.server.url, apiKey: stage.server.key });

  async function useFake(page: Page, number: number, name: string): Promise<void> {
    const one = column(page, number);
    await one.getByLabel(/^Who answers/).selectOption("openai");
    await one.getByLabel(/^Model of/).fill(name);
    if (!(await one.getByLabel("Address").isVisible())) await one.getByText("Settings", { exact: true }).click();
    await one.getByLabel("Address").fill(model.baseUrl);
    await one.getByLabel("API key").fill("key-of-the-tests");
  }

  it("opens a run of a trace, compares two models, and commits what was edited", async () => {
    const input = { messages: [{ role: "user", content: "count to 3 secretly" }] };
    await callAs(stage.server, "POST", "/runs/wait", { assistant_id: "agent", input });
    const { page, troubles, close } = await visit(stage, { path: "/traces" });
    await page.getByRole("link", { name: /agent/ }).first().click();
    await page
      .getByRole("treeitem", { name: /OfflineModel/ })
      .first()
      .click();
    await page.getByRole("button", { name: "Open in playground" }).click();
    await page.waitForURL("**/console/playground");
    await page.getByText("From the run").waitFor();
    const last = await page.getByRole("group", { name: /^Message \d/ }).count();
    expect(await text(page, last).inputValue()).toBe("count to 3 secretly");
    const roles = await page.getByLabel(`Role of message ${last}`).getByRole("option").allTextContents();
    expect(roles).toEqual(["System", "User", "Assistant", "Tool", "Placeholder"]);
    expect(
      await column(page, 1)
        .getByLabel(/^Who answers/)
        .inputValue(),
    ).toBe("offline");
    expect(await page.evaluate("JSON.stringify([location.href, history.state])")).not.toContain("secretly");

    await page.getByLabel("Variables are written").selectOption("mustache");
    await text(page, last).fill("count to {{n}}");
    await page.getByRole("textbox", { name: "n", exact: true }).fill("4");
    await page.getByRole("button", { name: "Add column" }).click();
    await useFake(page, 2, "gpt-4o-mini");
    await text(page, last).press("Control+Enter");
    await expectSaid(page, 1, "1 2 3 4");
    await expectSaid(page, 2, "COUNT TO 4");
    await column(page, 2).getByText("1,000,007 tokens").waitFor();
    await column(page, 2).getByText("$0.15", { exact: true }).waitFor();
    expect(model.asked.at(-1)?.key).toBe("Bearer key-of-the-tests");
    expect(await findingsInBothThemes(page)).toEqual([]);

    const name = `played-${crypto.randomUUID()}`;
    await page.getByRole("button", { name: "Save as commit" }).click();
    const dialog = page.getByRole("dialog", { name: "Save as commit" });
    await dialog.getByLabel("Name", { exact: true }).fill(name);
    await dialog.getByLabel("With the model and tools").selectOption({ label: "Of column 2: gpt-4o-mini" });
    expect(await findings(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Commit" }).click();
    await page.getByText(/^Saved as commit/).waitFor();
    const pulled = await newClient().pullPromptCommit(name, { includeModel: true, skipCache: true });
    expect(JSON.stringify(pulled.manifest)).toContain("count to {{n}}");
    expect(JSON.stringify(pulled.manifest)).toContain("gpt-4o-mini");

    await page.reload();
    await expectSaid(page, 2, "COUNT TO 4");
    expect(await text(page, last).inputValue()).toBe("count to {{n}}");
    await text(page, last).fill("count down from {{n}}");
    await page.getByRole("button", { name: "Save as commit" }).click();
    const changes = dialog.getByRole("region", { name: /^Changes from/ });
    await changes.locator("ins", { hasText: "down from" }).waitFor();
    await dialog.getByRole("button", { name: "Commit" }).click();
    await dialog.waitFor({ state: "detached" });
    expect((await newClient().pullPromptCommit(name, { skipCache: true })).commit_hash).not.toBe(pulled.commit_hash);
    await column(page, 2).getByRole("link", { name: "Open trace" }).click();
    await page.waitForURL("**/traces/**");
    expect(troubles).toEqual([]);
    await close();
  });

  it("opens a commit of a prompt, and runs an assistant with it", async () => {
    const name = `opened-${crypto.randomUUID()}`;
    const message = {
      id: ["HumanMessagePromptTemplate"],
      kwargs: { prompt: { id: ["PromptTemplate"], kwargs: { template: "count to {n}" } } },
    };
    await newClient().pushPrompt(name, { object: { id: ["ChatPromptTemplate"], kwargs: { messages: [message] } } });
    const { page, close } = await visit(stage, { path: `/console/prompts/${name}` });
    const messages = page.getByRole("region", { name: "Messages" });
    await messages.getByRole("heading", { name: "User", exact: true }).waitFor();
    await messages.getByText("count to {n}").waitFor();
    await page.getByRole("link", { name: "Open in playground" }).click();
    await page.getByRole("textbox", { name: "n", exact: true }).fill("5");
    expect(await text(page, 1).inputValue()).toBe("count to {n}");
    await column(page, 1)
      .getByLabel(/^Who answers/)
      .selectOption({ label: "agent" });
    await runAll(page).click();
    await expectSaid(page, 1, "1 2 3 4 5");
    await column(page, 1).getByText("Answered.").waitFor();
    await column(page, 1).getByRole("button", { name: "Add to messages" }).click();
    expect(await text(page, 2).inputValue()).toContain("1 2 3 4 5");
    await page.reload();
    expect(await text(page, 2).inputValue()).toContain("1 2 3 4 5");
    await close();
  });

  it("stops a model, and shows how one failed", async () => {
    const { page, close } = await visit(stage, { path: "/console/playground" });
    await text(page, 2).fill("hello");
    await useFake(page, 1, "hangs");
    await page.getByRole("button", { name: "Add column" }).click();
    await useFake(page, 2, "breaks");
    await page.getByRole("button", { name: "Add column" }).click();
    await useFake(page, 3, "gpt-none");
    await runAll(page).click();
    await expectSaid(page, 2, "Half an answer");
    await column(page, 2).getByRole("alert").getByText("The model's answer ended before its end.").waitFor();
    await column(page, 3)
      .getByRole("alert")
      .getByText("The model answered 404: The model gpt-none does not exist")
      .waitFor();
    await expectSaid(page, 1, "One");
    await column(page, 1).getByRole("button", { name: "Stop" }).click();
    await column(page, 1).getByText("Stopped.").waitFor();
    const query = async () => {
      const [project] = await callAs<{ id: string }[]>(stage.server, "GET", "/api/v1/sessions?name=playground");
      const wanted = { session: [project?.id], filter: 'eq(name, "hangs")' };
      return (await callAs<{ runs: { error: string }[] }>(stage.server, "POST", "/api/v1/runs/query", wanted)).runs;
    };
    await checkEventually(query, ([run]) => expect(run?.error).toBe("Stopped by the caller."));
    await column(page, 3).getByRole("button", { name: "Remove column 3" }).click();
    await column(page, 3).waitFor({ state: "detached" });
    await text(page, 2).fill("{{#open}}");
    await page.getByText("The section open is not closed.").waitFor();
    await close();
  });

  it("fits a phone", async () => {
    const { page, close } = await visit(stage, { ...PHONE, path: "/console/playground" });
    await text(page, 2).fill("count to 2 {{a}}");
    await page.getByRole("button", { name: "Add column" }).click();
    await runAll(page).click();
    await column(page, 2).getByText("Answered.").waitFor();
    await expectNoSidewaysScroll(page);
    expect(await findings(page)).toEqual([]);
    await close();
  });

  it("runs and saves nothing for a role that only reads", async () => {
    const body = { name: "reader", scopes: ["read"] };
    const { key } = await callAs<{ key: string }>(stage.server, "POST", "/api/v1/api-keys", body);
    const reading = { ...stage, server: { ...stage.server, key } };
    const { page, close } = await visit(reading, { path: "/console/playground" });
    await page.getByText("needs the permission runs.create").waitFor();
    expect(await runAll(page).isDisabled()).toBe(true);
    expect(await page.getByRole("button", { name: "Save as commit" }).isDisabled()).toBe(true);
    expect(await column(page, 1).getByRole("button", { name: "Run" }).isDisabled()).toBe(true);
    await text(page, 2).press("Control+Enter");
    expect(await answer(page, 1).count()).toBe(0);
    await close();
  });
});
