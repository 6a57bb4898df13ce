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

interface Assistant {
  assistant_id: string;
  version: number;
  name: string;
  context: Record<string, unknown>;
}

describe.runIf(browserHere)("assistants in the browser", () => {
  const stage = onStage(() => sharedServer("graphs"));

  async function call<T = Assistant>(path: string, body?: unknown, method = body === undefined ? "GET" : "POST") {
    const headers = { ...stage.server.headers, "content-type": "application/json" };
    const answer = await fetch(stage.server.url + path, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    expect(answer.status).toBeLessThan(300);
    return answer.json<T>();
  }

  /** An assistant of the demo agent with two versions. */
  async function twoVersions(): Promise<string> {
    const { assistant_id } = await call("/assistants", {
      graph_id: "agent",
      name: "Desk",
      context: { system_prompt: "Be brief." },
    });
    await call(`/assistants/${assistant_id}`, { context: { system_prompt: "Be kind." } }, "PATCH");
    return assistant_id;
  }

  it("lists them, finds one by name, and opens it", async () => {
    const id = await twoVersions();
    const { page, troubles, close } = await visit(stage, { path: "/console/assistants" });
    await page.getByRole("row", { name: /^approval/ }).waitFor();
    await page.getByLabel("Search assistants").fill("nobody");
    await page.getByText("No assistant has this name.").waitFor();
    expect(await findingsInBothThemes(page)).toEqual([]);
    await page.getByLabel("Search assistants").fill("desk");
    await page.locator(`a[href="/console/assistants/${id}"]`).waitFor();
    expect(await findingsInBothThemes(page)).toEqual([]);
    await page.locator(`a[href="/console/assistants/${id}"]`).click();
    await page.waitForURL(`**/console/assistants/${id}`);
    const graph = page.getByRole("region", { name: "Graph" });
    await graph.getByText("agent leads to tools or End.").waitFor({ state: "attached" });
    // The pane of a phone is as high as two of its boxes.
    await page.setViewportSize({ width: 390, height: 640 });
    await checkEventually(
      () =>
        graph.evaluate((element) => {
          const { scrollHeight = 0, clientHeight = 0 } = element as unknown as Record<string, number>;
          return scrollHeight - clientHeight;
        }),
      (hidden) => expect(hidden).toBe(0),
    );
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.getByLabel("system_prompt").waitFor();
    expect(await findingsInBothThemes(page)).toEqual([]);
    expect(troubles).toEqual([]);
    await close();
  });

  it("saves a change as a new version, and shows what is wrong with one", async () => {
    const id = await twoVersions();
    const { page, close } = await visit(stage, { path: `/console/assistants/${id}` });
    const save = page.getByRole("button", { name: "Save as a new version" });
    await page.getByLabel("system_prompt").waitFor();
    expect(await save.isDisabled()).toBe(true);
    await page.getByLabel("temperature").fill("warm");
    await save.click();
    await page.getByRole("alert").getByText("temperature: Not a number.").waitFor();
    expect(await findings(page)).toEqual([]);
    await page.getByLabel("temperature").fill("0.5");
    await save.click();
    await checkEventually(
      () => call(`/assistants/${id}`),
      ({ version, context }) => {
        expect(version).toBe(3);
        expect(context).toEqual({ system_prompt: "Be kind.", temperature: 0.5 });
      },
    );
    await page.getByText("Active version").locator("..").getByText("3", { exact: true }).waitFor();
    await close();
  });

  it("compares versions, and makes an earlier one active", async () => {
    const id = await twoVersions();
    const { page, troubles, close } = await visit(stage, {
      path: `/console/assistants/${id}?tab=versions`,
    });
    const changes = page.getByRole("region", { name: "Changes from version 1" });
    await changes.getByText("context.system_prompt").waitFor();
    await changes.locator("del", { hasText: "Be brief." }).waitFor();
    await changes.locator("ins", { hasText: "Be kind." }).waitFor();
    expect(await findingsInBothThemes(page)).toEqual([]);
    await page.getByRole("table", { name: "Versions" }).getByRole("button", { name: "1", exact: true }).click();
    await page.getByLabel("Compare with").selectOption("2");
    await page.getByRole("region", { name: "Changes from version 2" }).getByText("Be brief.").waitFor();
    await page.getByRole("button", { name: "Make active" }).click();
    await page.getByRole("row", { name: /^1 Desk active/ }).waitFor();
    expect((await call(`/assistants/${id}`)).version).toBe(1);
    expect(troubles).toEqual([]);
    await close();
  });

  it("lights the nodes of a run as it goes, and leads to its thread and trace", async () => {
    const { page, troubles, close } = await visit(stage, { path: "/console/assistants/agent?tab=try" });
    await page.getByLabel("Message").fill("What is 17 * 24?");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByText("The run ended.").waitFor();
    for (const node of ["__start__", "agent", "tools", "__end__"])
      expect(await page.locator(`[data-node="${node}"]`).getAttribute("data-light")).toBe("done");
    await page.getByRole("region", { name: "State" }).first().getByText("17 * 24 = 408.").waitFor();
    expect(await findings(page)).toEqual([]);
    expect(await page.getByRole("link", { name: "Open trace" }).getAttribute("href")).toMatch(/^\/traces\/.{36}$/);
    await page.getByRole("link", { name: "Open thread" }).click();
    await page.waitForURL("**/chat/*");
    expect(troubles).toEqual([]);
    await close();
  });

  it("lights a node while it runs, stops the run, and shows a failure and a question", async () => {
    const { page, close } = await visit(stage, { path: "/console/assistants/actor?tab=try" });
    const node = page.locator('[data-node="act"]');
    const lit = (light: string) => page.locator(`[data-node="act"][data-light="${light}"]`).waitFor();
    const run = async (text: string) => {
      await page.getByLabel("Message").fill(text);
      await page.getByRole("button", { name: "Run", exact: true }).click();
    };
    await run("forever");
    await lit("running");
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("The run was stopped.").waitFor();
    await run("fail");
    await lit("failed");
    await page.getByText("The run failed.").waitFor();
    await page.getByText("It broke.").first().waitFor();
    expect(await findings(page)).toEqual([]);
    await run("ask");
    await lit("waiting");
    await page.getByText("The run waits for a person.").waitFor();
    expect(await node.textContent()).toContain("waits for a person");
    await page.getByRole("button", { name: "JSON", exact: true }).first().click();
    await page.getByLabel("Input as JSON").fill("{");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByRole("alert").getByText("The input is no JSON").waitFor();
    await close();
  });

  it("makes one of a graph, and deletes it", async () => {
    const { page, close } = await visit(stage, { path: "/console/assistants" });
    await page.getByRole("link", { name: "New assistant" }).click();
    await page.getByLabel("Graph").selectOption("agent");
    await page.waitForURL("**/console/assistants/new?graph=agent");
    await page.getByLabel("Name").fill("Poet");
    await page.getByLabel("system_prompt").fill("Answer in verse.");
    expect(await findings(page)).toEqual([]);
    await page.getByRole("button", { name: "Create assistant" }).click();
    await page.getByRole("heading", { name: "Poet" }).waitFor();
    const id = page.url().split("/").at(-1) ?? "";
    expect((await call(`/assistants/${id}`)).context).toEqual({ system_prompt: "Answer in verse." });
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    expect(await findings(page)).toEqual([]);
    await page.getByRole("button", { name: "Delete assistant" }).click();
    await page.waitForURL("**/console/assistants");
    await page.getByRole("row", { name: /^approval/ }).waitFor();
    expect(await page.getByRole("row", { name: /^Poet/ }).count()).toBe(0);
    await close();
  });

  it("says what to do when there is no such assistant", async () => {
    const { page, close } = await visit(stage, { path: `/console/assistants/${crypto.randomUUID()}` });
    await page.getByRole("alert").getByText("The assistant did not load.").waitFor();
    await page.getByText("It may have been deleted.").waitFor();
    expect(await findings(page)).toEqual([]);
    await close();
  });

  it("fits a phone", async () => {
    const id = await twoVersions();
    const { page, close } = await visit(stage, { ...PHONE, path: `/console/assistants/${id}` });
    for (const tab of ["Versions", "Try", "Configuration"]) {
      await page.getByRole("button", { name: tab, exact: true }).tap();
      await expectNoSidewaysScroll(page);
    }
    expect(await findings(page)).toEqual([]);
    await page.goto(`${stage.server.url}/console/assistants`);
    await page.getByRole("row", { name: /^approval/ }).waitFor();
    await expectNoSidewaysScroll(page);
    await close();
  });

  it.each(["Assistants", "Runs", "Crons", "Store"])(
    "%s is in the navigation, and opened by name with the keyboard",
    async (name) => {
      const { page, close } = await visit(stage, { path: "/" });
      const path = `/console/${name.toLowerCase()}`;
      const entry = page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name });
      expect(await entry.getAttribute("href")).toBe(path);
      await page.keyboard.press("Control+k");
      await page.getByRole("dialog").getByRole("combobox").fill(name);
      await page
        .getByRole("option", { name: new RegExp(`^${name}`) })
        .first()
        .waitFor();
      await page.keyboard.press("Enter");
      await page.waitForURL(`**${path}`);
      await page.getByRole("heading", { name, level: 1 }).waitFor();
      await close();
    },
  );
});
