import { describe, expect, it } from "vitest";
import { callAs } from "../support/workspace.ts";
import { sharedServer } from "../support/shared-server.ts";
import {
  browserHere,
  choose,
  expectNoSidewaysScroll,
  findingsInBothThemes,
  log,
  onStage,
  PHONE,
  say,
  settled,
  visit,
} from "./page.ts";

describe.runIf(browserHere)("the loop from a bad answer to a compared experiment", () => {
  const stage = onStage(() => sharedServer());
  const call = <T>(method: string, path: string, body?: unknown) => callAs<T>(stage.server, method, path, body);

  it("goes from the chat over a score and a dataset to experiments of two assistants", async () => {
    const { page, troubles, close } = await visit(stage);
    // The assistant answers with the question, which is wrong.
    await choose(page, "echo");
    await say(page, "What is 17 * 24?");
    await settled(page);
    const bad = log(page).getByRole("button", { name: "Bad answer" });
    await bad.click();
    await bad.and(page.locator('[aria-pressed="true"]:not(:disabled)')).waitFor();

    // Found by its score, it becomes an example with the right answer.
    const [project] = await call<{ id: string }[]>("GET", "/api/v1/sessions?reference_free=true");
    const filter = 'and(eq(feedback_key, "user_score"), eq(feedback_score, 0))';
    const query = new URLSearchParams({ project: project?.id ?? "", filter });
    await page.goto(`${stage.server.url}/traces?${query.toString()}`);
    await page.getByRole("table", { name: "Traces" }).getByRole("link", { name: "echo" }).click();
    await page.getByRole("button", { name: "Add to" }).click();
    await page.getByRole("menuitem", { name: "Add to dataset" }).click();
    const dialog = page.getByRole("dialog", { name: "Add to dataset" });
    await dialog.getByLabel("Dataset", { exact: true }).selectOption({ label: "New dataset" });
    await dialog.getByLabel("Name of the new dataset").fill("sums");
    await dialog.getByLabel("Expected answer").fill("408");
    await dialog.getByRole("button", { name: "Add run" }).click();
    await dialog.waitFor({ state: "detached" });

    // The assistant that failed is the baseline of the one that calls a tool.
    await page.goto(`${stage.server.url}/console/datasets`);
    await page.getByRole("link", { name: "sums" }).click();
    const experiment = async (assistant: string) => {
      await page.getByRole("link", { name: "Run experiment" }).click();
      await page.getByLabel("Assistant", { exact: true }).selectOption({ label: assistant });
      await page.getByRole("checkbox", { name: /contains_expected/ }).check();
      expect(await findingsInBothThemes(page)).toEqual([]);
      await page.getByRole("button", { name: "Run experiment" }).click();
      await page.waitForURL("**/console/experiments/*experiment=*");
    };
    await experiment("echo");
    const comparison = page.getByRole("table", { name: "Comparison" });
    await comparison.getByRole("columnheader", { name: /echo-.*contains_expected 0/ }).waitFor();
    const [dataset] = await call<{ id: string }[]>("GET", "/api/v1/datasets?name=sums");
    await page.goto(`${stage.server.url}/console/datasets/${dataset?.id}`);
    await experiment("agent");
    await comparison.getByRole("columnheader", { name: /echo-.*baseline/ }).waitFor();
    await comparison
      .getByRole("columnheader", { name: /agent-.*contains_expected 1.*\+1.*1 better, 0 worse/ })
      .waitFor();
    await comparison.getByText("contains_expected 1, better").waitFor();

    // Compared the other way around, it is a regression.
    await page.getByLabel("Baseline").selectOption({ index: 1 });
    await comparison.getByRole("columnheader", { name: /echo-.*0 better, 1 worse/ }).waitFor();
    expect(troubles).toEqual([]);
    await close();
  });

  it("judges by an assistant, and says which scores are missing", async () => {
    const { id } = await call<{ id: string }>("POST", "/api/v1/datasets", { name: "judged" });
    const inputs = { messages: [{ role: "user", content: "hello" }] };
    await call("POST", "/api/v1/examples", { dataset_id: id, inputs });
    const { page, close } = await visit(stage, { ...PHONE, path: `/console/experiments/new?dataset=${id}` });
    await page.getByLabel("Assistant", { exact: true }).selectOption({ label: "echo" });
    await page.getByLabel("Judge").selectOption({ label: "echo" });
    await page.getByRole("button", { name: "Run experiment" }).click();
    await page.getByText("Write what is a good answer, for the judge.").waitFor();
    await page.getByLabel("What is a good answer").fill("It is short.");
    await page.getByRole("button", { name: "Run experiment" }).click();
    await page.getByText("The judge gave no JSON object with a score from 0 to 1.").waitFor();
    await page.getByText(/1 of 1 done, 1 scores missing/).waitFor();
    await expectNoSidewaysScroll(page);
    await page.getByLabel("What is a good answer").fill('{"score": 0.5, "comment": "half"}');
    await page.getByRole("button", { name: "Run experiment" }).click();
    const comparison = page.getByRole("table", { name: "Comparison" });
    await comparison.getByRole("columnheader", { name: /judge 0\.5/ }).waitFor();
    await expectNoSidewaysScroll(page);
    expect(await findingsInBothThemes(page)).toEqual([]);
    await close();
  });
});
