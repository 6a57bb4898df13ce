import { describe, expect, it } from "vitest";
import { callAs } from "../support/workspace.ts";
import { sharedServer } from "../support/shared-server.ts";
import {
  browserHere,
  checkEventually,
  expectFacts,
  expectNoSidewaysScroll,
  findingsInBothThemes,
  onStage,
  PHONE,
  readShownId,
  visit,
} from "./page.ts";

interface Given {
  key: string;
  score: number | null;
  value: string | null;
  comment: string | null;
  feedback_source: { user_id: string };
}

describe.runIf(browserHere)("annotation queues in the browser", () => {
  const stage = onStage(() => sharedServer());
  const call = <T>(method: string, path: string, body?: unknown) => callAs<T>(stage.server, method, path, body);
  const listFeedback = (run: string) => call<Given[]>("GET", `/api/v1/feedback?run=${run}`);

  async function askQuestions(...questions: string[]): Promise<string[]> {
    const post = questions.map((question, i) => ({
      id: crypto.randomUUID(),
      name: "support",
      run_type: "chain",
      session_name: "reviewed",
      start_time: new Date(Date.now() - 60_000 + i).toISOString(),
      end_time: new Date().toISOString(),
      inputs: { question },
      outputs: { answer: `Maybe ${question}` },
    }));
    await call("POST", "/runs/batch", { post, patch: [] });
    return post.map(({ id }) => id);
  }

  async function createQueue(name: string, runs: string[], fields: object): Promise<string> {
    const { id } = await call<{ id: string }>("POST", "/api/v1/annotation-queues", { name, ...fields });
    await call("POST", `/api/v1/annotation-queues/${id}/runs`, runs);
    return id;
  }

  /** Opens the queue as another reviewer: with an API key of its own. */
  async function visitAsReviewer(name: string, path: string) {
    const { key } = await call<{ key: string }>("POST", "/api/v1/api-keys", { name, scopes: ["read", "write"] });
    const visited = await visit({ ...stage, server: { ...stage.server, key } }, { path });
    const run = visited.page.getByRole("region", { name: "Run" });
    const sees = (question: string) => run.getByText(`Maybe ${question}`).waitFor();
    return { ...visited, sees };
  }

  it("makes a queue with a rubric, and takes its scores by keyboard", async () => {
    const runs = await askQuestions("north", "south");
    const { page, troubles, close } = await visit(stage, { path: "/console/queues" });
    await page.getByText("No annotation queues yet.").waitFor();
    await page.getByRole("link", { name: "New queue" }).click();
    await page.getByLabel("Name", { exact: true }).fill("compass");
    await page.getByLabel("Instructions").fill("Look at a map first.");
    await page.getByRole("button", { name: "Add key" }).click();
    await page.getByLabel("Key").last().fill("tone");
    await page.getByLabel("Scores").last().selectOption("choices");
    await page.getByLabel("Names of the choices").fill("rude, plain, kind");
    await page.getByRole("button", { name: "Add key" }).click();
    await page.getByLabel("Key").last().fill("stars");
    await page.getByLabel("Scores").last().selectOption("one-to-five");
    expect(await findingsInBothThemes(page)).toEqual([]);
    await page.getByRole("button", { name: "Create queue" }).click();
    await page.getByText("No run waits for you.").waitFor();
    const queue = readShownId(page);
    await call("POST", `/api/v1/annotation-queues/${queue}/runs`, runs);
    await page.reload();

    await page.getByText("Look at a map first.").waitFor();
    await page.getByText("Maybe north").waitFor();
    await page.getByText("2 for you, 0 for others, 0 completed").waitFor();
    expect(await findingsInBothThemes(page)).toEqual([]);
    // The second of bad and good, the third of the choices, and four of five stars.
    for (const key of ["2", "3", "4"]) await page.keyboard.press(key);
    const pressed = page.getByRole("region", { name: "Rubric" }).locator('[aria-pressed="true"]');
    await expect.poll(async () => pressed.allTextContents()).toEqual(["2Good", "3kind", "4"]);
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("1");
    await expect.poll(async () => pressed.allTextContents()).toEqual(["2Good", "1rude", "4"]);
    await page.getByLabel("Comment").fill("1 is what it says");
    await page.getByRole("region", { name: "Run" }).click();
    await page.keyboard.press("Enter");
    await page.getByText("Maybe south").waitFor();
    await expect.poll(async () => pressed.count()).toBe(0);
    const scores = (await listFeedback(runs[0] ?? "")).map(({ key, score, comment }) => [key, score, comment]);
    expect(new Set(scores.map(String))).toEqual(
      new Set(["correct,1,1 is what it says", "tone,0,1 is what it says", "stars,4,1 is what it says"]),
    );
    await expect.poll(async () => page.getByRole("button", { name: "Complete and next" }).isDisabled()).toBe(true);
    expect(troubles).toEqual([]);
    await close();
  });

  it("gives a reserved run to one reviewer, and a skipped one to the next", async () => {
    const runs = await askQuestions("east", "west");
    const queue = await createQueue("reserved", runs, {
      enable_reservations: true,
      rubric_items: [{ feedback_key: "correct" }],
    });
    const first = await visitAsReviewer("first", `/console/queues/${queue}`);
    await first.sees("east");
    const second = await visitAsReviewer("second", `/console/queues/${queue}`);
    await second.sees("west");
    await first.page.keyboard.press("s");
    await first.page.getByText("Maybe east").waitFor();
    await second.page.keyboard.press("2");
    await second.page.keyboard.press("Enter");
    await checkEventually(
      () => listFeedback(runs[1] ?? ""),
      (all) => expect(all).toMatchObject([{ key: "correct", score: 1 }]),
    );
    await first.close();
    await second.close();
  });

  it("shows where two reviewers differ first, and how far they agree", async () => {
    const runs = await askQuestions("up", "down");
    const queue = await createQueue("twice", runs, {
      num_reviewers_per_item: 2,
      rubric_items: [{ feedback_key: "correct" }],
    });
    for (const [name, digits] of [
      ["ada", ["2", "2"]],
      ["grace", ["2", "1"]],
    ] as const) {
      const { page, sees, close } = await visitAsReviewer(name, `/console/queues/${queue}`);
      for (const [i, digit] of digits.entries()) {
        await sees(["up", "down"][i] ?? "");
        await page.keyboard.press(digit);
        await page.keyboard.press("Enter");
      }
      await page.getByText("No run waits for you.").waitFor();
      await close();
    }
    const { page, close } = await visit(stage, { ...PHONE, path: `/console/queues/${queue}` });
    await page.getByRole("button", { name: "Completed" }).click();
    await page.getByText("agree on 1 of 2").waitFor();
    const rows = page.getByRole("table", { name: "Completed runs" }).locator("tbody tr");
    await expect.poll(async () => rows.nth(0).textContent()).toMatch(/down.*Differ/);
    await expect.poll(async () => rows.nth(1).textContent()).toMatch(/up.*Agree/);
    expect(
      new Set((await listFeedback(runs[1] ?? "")).map(({ feedback_source }) => feedback_source.user_id)).size,
    ).toBe(2);
    await expectNoSidewaysScroll(page);
    expect(await findingsInBothThemes(page)).toEqual([]);
    await page.goto(`${stage.server.url}/console/queues`);
    const facts = /Reviewers: \d reviewers?.*Created: /;
    await expectFacts(page.getByRole("table", { name: "Annotation queues" }).locator("tbody tr").first(), facts);
    await expectNoSidewaysScroll(page);
    await close();
  });
});
