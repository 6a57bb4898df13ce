import { describe, expect, it } from "vitest";
import { callAs } from "../support/workspace.ts";
import { sharedServer } from "../support/shared-server.ts";
import { browserHere, expectNoSidewaysScroll, findingsInBothThemes, onStage, PHONE, visit } from "./page.ts";

interface Named {
  id: string;
  name: string;
}

interface Example {
  inputs: unknown;
  outputs: unknown;
  source_run_id: string | null;
  metadata: { dataset_split?: string[] };
}

describe.runIf(browserHere)("adding runs to datasets and queues in the browser", () => {
  const stage = onStage(() => sharedServer());
  const call = <T>(method: string, path: string, body?: unknown) => callAs<T>(stage.server, method, path, body);

  /** Traces of a project, one for each question; the ids of their roots. */
  async function askQuestions(project: string, ...questions: string[]): Promise<string[]> {
    const runs = questions.map((question, i) => ({
      id: crypto.randomUUID(),
      name: "support",
      run_type: "chain",
      session_name: project,
      start_time: new Date(Date.now() - 60_000 + i).toISOString(),
      end_time: new Date().toISOString(),
      inputs: { messages: [{ role: "user", content: question }] },
      outputs: {
        messages: [
          { type: "human", content: question },
          { type: "ai", content: `No idea: ${question}` },
        ],
      },
    }));
    await call("POST", "/runs/batch", { post: runs, patch: [] });
    return runs.map(({ id }) => id);
  }

  const findId = async (path: string, name: string) =>
    (await call<Named[]>("GET", path)).find((one) => one.name === name)?.id ?? "";
  const examples = async (name: string) =>
    call<Example[]>("GET", `/api/v1/examples?dataset=${await findId("/api/v1/datasets", name)}`);

  it("adds a run as an example whose expected answer is corrected first", async () => {
    const [id = ""] = await askQuestions("one run", "When does the ferry leave?");
    const { page, troubles, close } = await visit(stage, { path: `/traces/${id}` });
    await page.getByRole("button", { name: "Add to" }).click();
    await page.getByRole("menuitem", { name: "Add to dataset" }).click();
    const dialog = page.getByRole("dialog", { name: "Add to dataset" });
    await dialog.getByLabel("Dataset", { exact: true }).selectOption({ label: "New dataset" });
    await expect.poll(async () => dialog.getByRole("button", { name: "Add run" }).isDisabled()).toBe(true);
    await dialog.getByLabel("Name of the new dataset").fill("ferries");
    await expect
      .poll(async () => dialog.getByLabel("Expected answer").inputValue())
      .toBe("No idea: When does the ferry leave?");
    await dialog.getByLabel("Expected answer").fill("At nine.");
    await dialog.getByLabel("Split").fill("hard");
    expect(await findingsInBothThemes(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Add run" }).click();
    await dialog.waitFor({ state: "detached" });
    expect(await examples("ferries")).toMatchObject([
      {
        inputs: { messages: [{ role: "user", content: "When does the ferry leave?" }] },
        outputs: { messages: [{ role: "assistant", content: "At nine." }] },
        source_run_id: id,
        metadata: { dataset_split: ["hard"] },
      },
    ]);

    await page.getByRole("button", { name: "Add to" }).click();
    await page.getByRole("menuitem", { name: "Add to queue" }).click();
    const queue = page.getByRole("dialog", { name: "Add to queue" });
    await queue.getByLabel("Queue", { exact: true }).selectOption({ label: "New queue" });
    await queue.getByLabel("Name of the new queue").fill("to check");
    await queue.getByRole("button", { name: "Add run" }).click();
    await queue.waitFor({ state: "detached" });
    const path = `/api/v1/annotation-queues/${await findId("/api/v1/annotation-queues", "to check")}/runs`;
    await expect.poll(async () => call<Named[]>("GET", path)).toMatchObject([{ id }]);
    expect(troubles).toEqual([]);
    await close();
  });

  it("adds the found traces that are selected, as they are", async () => {
    const ids = await askQuestions("many runs", "one?", "two?", "three?");
    const project = await findId("/api/v1/sessions", "many runs");
    const { page, close } = await visit(stage, { ...PHONE, path: `/traces?project=${project}` });
    await page
      .getByRole("row", { name: /support/ })
      .first()
      .waitFor();
    await expectNoSidewaysScroll(page);
    await page.getByRole("button", { name: "Add to" }).click();
    await page.getByRole("menuitem", { name: "Add to dataset" }).click();
    const dialog = page.getByRole("dialog", { name: "Add to dataset" });
    await dialog.getByRole("button", { name: "Add 3 runs" }).waitFor();
    await dialog.getByRole("checkbox", { name: /two/ }).uncheck();
    await dialog.getByLabel("Dataset", { exact: true }).selectOption({ label: "New dataset" });
    await dialog.getByLabel("Name of the new dataset").fill("found");
    await expectNoSidewaysScroll(page);
    await dialog.getByRole("button", { name: "Add 2 runs" }).click();
    await dialog.waitFor({ state: "detached" });
    const added = await examples("found");
    expect(new Set(added.map(({ source_run_id }) => source_run_id))).toEqual(new Set([ids[0], ids[2]]));
    expect(JSON.stringify(added)).toContain("No idea: three?");
    await close();
  });

  it("disables what the caller may not do", async () => {
    const [id = ""] = await askQuestions("read only", "one?");
    const { key } = await call<{ key: string }>("POST", "/api/v1/api-keys", { name: "reads", scopes: ["read"] });
    const { page, close } = await visit({ ...stage, server: { ...stage.server, key } }, { path: `/traces/${id}` });
    await page.getByRole("button", { name: "Add to" }).click();
    await page.getByRole("menuitem", { name: "Add to queue", disabled: true }).waitFor();
    await expect.poll(async () => page.getByRole("menuitem", { disabled: true }).count()).toBe(2);
    await close();
  });
});
