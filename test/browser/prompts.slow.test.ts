import { Client } from "langsmith";
import { describe, expect, it } from "vitest";
import { sharedServer } from "../support/shared-server.ts";
import {
  browserHere,
  expectFacts,
  expectNoSidewaysScroll,
  findings,
  findingsInBothThemes,
  onStage,
  PHONE,
  visit,
} from "./page.ts";

describe.runIf(browserHere)("prompts in the browser", () => {
  const stage = onStage(() => sharedServer());
  const newClient = () => new Client({ apiUrl: stage.server.url, apiKey: stage.server.key });
  const name = `answers-${crypto.randomUUID()}`;
  const push = (template: string, commitTags?: string) =>
    newClient().pushPrompt(name, {
      object: { id: ["PromptTemplate"], kwargs: { template } },
      description: "Short answers",
      commitDescription: `Says ${template}`,
      commitTags,
    });
  let pushed: Promise<string> | undefined;
  const prompt = () => (pushed ??= push("Be brief.", "prod").then(() => push("Be exact.")));

  it("teaches how to push one where there are none", async () => {
    const { page, close } = await visit(stage, { path: "/console/prompts" });
    await page.getByText("No prompts yet.").waitFor();
    await page.getByText(`LANGSMITH_ENDPOINT=${stage.server.url}`).waitFor();
    expect(await findings(page)).toEqual([]);
    await close();
  });

  it("shows what a commit changed, and moves a tag to it", async () => {
    await prompt();
    const { page, troubles, close } = await visit(stage, { path: "/console/prompts" });
    await page.getByRole("link", { name }).click();
    const commits = page.getByRole("table", { name: "Commits" });
    await commits.getByRole("row", { name: /Says Be brief.*prod/ }).waitFor();
    const changes = page.getByRole("region", { name: /^Changes from/ });
    await changes.getByText("messages.0").waitFor();
    expect(await changes.locator("del").textContent()).toBe("brief");
    expect(await changes.locator("ins").textContent()).toBe("exact");
    expect(await findingsInBothThemes(page)).toEqual([]);

    await page.getByRole("button", { name: "Move prod here" }).click();
    await commits.getByRole("row", { name: /Says Be exact.*prod/ }).waitFor();
    await page.getByText(`pullPromptCommit("${name}:prod")`).waitFor();
    const pulled = await newClient().pullPromptCommit(`${name}:prod`, { skipCache: true });
    expect(pulled.manifest.kwargs.template).toBe("Be exact.");

    await commits
      .getByRole("row", { name: /Says Be brief/ })
      .getByRole("button")
      .click();
    await page.getByLabel("New tag").fill("a tag");
    await page.getByRole("button", { name: "Add tag" }).click();
    await page.getByRole("alert").waitFor();
    await page.getByLabel("New tag").fill("old");
    await page.getByRole("button", { name: "Add tag" }).click();
    await commits.getByRole("row", { name: /Says Be brief.*old/ }).waitFor();
    await page.getByRole("button", { name: "Remove old" }).click();
    await page.getByRole("button", { name: "Remove old" }).waitFor({ state: "detached" });
    expect(troubles.filter((trouble) => !trouble.includes("422"))).toEqual([]);
    await close();
  });

  it("opens the commit of the address that pushPrompt() prints", async () => {
    await prompt();
    const { commit_hash } = await newClient().pullPromptCommit(`${name}:latest`, { skipCache: true });
    const hash = commit_hash.slice(0, 8);
    const { page, close } = await visit(stage, { path: `/prompts/${name}/${hash}?organizationId=any` });
    await page.getByRole("heading", { name: `Commit ${hash}` }).waitFor();
    expect(page.url()).toContain(`/console/prompts/${name}?commit=${hash}`);
    await close();
  });

  it("opens a commit that is on a later page of the list, and deletes the prompt", async () => {
    const long = `long-${crypto.randomUUID()}`;
    const client = newClient();
    const first = await client.pushPrompt(long, { object: { template: "the first" } });
    for (let n = 0; n < 50; n++) await client.createCommit(long, { template: n });
    const { pathname } = new URL(first);
    const hash = pathname.slice(-8);
    const { page, close } = await visit(stage, { path: pathname });
    await page.getByRole("heading", { name: `Commit ${hash}` }).waitFor();
    await page.getByText("the first").waitFor();
    expect(await page.getByRole("row", { name: hash }).count()).toBe(0);

    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByRole("button", { name: "Delete prompt" }).click();
    await page.waitForURL("**/console/prompts");
    expect(await client.promptExists(long)).toBe(false);
    await close();
  });

  it("fits a phone", async () => {
    await prompt();
    const { page, close } = await visit(stage, { ...PHONE, path: `/console/prompts/${name}` });
    const commits = page.getByRole("table", { name: "Commits" });
    await expectFacts(commits.getByRole("row", { name: /prod/ }), /Description: Says Be .*Committed: now/);
    await expectNoSidewaysScroll(page);
    expect(await findings(page)).toEqual([]);
    await page.goto(`${stage.server.url}/console/prompts`);
    await expectFacts(page.getByRole("row", { name: new RegExp(name) }), /Commits: 2 commits/);
    await expectNoSidewaysScroll(page);
    await close();
  });
});
