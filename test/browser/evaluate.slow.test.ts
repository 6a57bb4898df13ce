import { Client } from "langsmith";
import { afterAll, describe, expect, it } from "vitest";
import { type FakeOpenAI, startFakeOpenAI } from "../support/fake-openai.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { startServer } from "../support/server.ts";
import { callAs } from "../support/workspace.ts";
import {
  browserHere,
  choose,
  checkEventually,
  expectAnswer,
  expectNoSidewaysScroll,
  findingsInBothThemes,
  log,
  onStage,
  PHONE,
  say,
  waitUntilSettled,
  visit,
} from "./page.ts";

const FIRST = "Answer in three words.";
const BETTER = "Answer with the exact result.";

describe.runIf(browserHere)("the loop from a bad answer to a better agent", () => {
  let model: FakeOpenAI;
  let receiver: Receiver;
  const stage = onStage(async () => {
    // A model that does what its prompt says.
    model = await startFakeOpenAI(([system]) => (system?.content === BETTER ? "It is 408." : "It is about 400."));
    receiver = await startReceiver();
    return startServer({
      AUTH: "keys",
      ALLOW_PRIVATE_ADDRESSES: "true",
      OPENAI_API_KEY: "sk-test",
      OPENAI_BASE_URL: model.baseUrl,
    });
  });
  afterAll(() => {
    model?.stop();
    receiver?.stop();
  });
  const call = <T>(method: string, path: string, body?: unknown) => callAs<T>(stage.server, method, path, body);

  /** Alerts are evaluated once a minute. */
  let minutes = 0;
  const nextMinute = () =>
    fetch(`${stage.server.url}/cdn-cgi/handler/scheduled?time=${Date.now() + ++minutes * 60_000}`);

  it("goes from the chat over a score, a dataset, experiments and another prompt to a resolved alert", async () => {
    const client = new Client({ apiUrl: stage.server.url, apiKey: stage.server.key });
    const push = (template: string, commitTags?: string) =>
      client.pushPrompt("sums", { object: { id: ["PromptTemplate"], kwargs: { template } }, commitTags });
    /** What a deployment of the agent pulls. */
    const readReleased = async (): Promise<string> =>
      (await client.pullPromptCommit("sums:prod", { skipCache: true })).manifest.kwargs.template;
    await push(FIRST, "prod");
    const { assistant_id } = await call<{ assistant_id: string }>("POST", "/assistants", {
      graph_id: "agent",
      name: "calculating",
      context: { system_prompt: await readReleased() },
    });
    const { page, troubles, close } = await visit(stage);
    const open = (path: string) => page.goto(stage.server.url + path);
    /** Asks in a new thread, and scores the answer with a thumb. */
    const ask = async (answer: string, thumb: string) => {
      await open("/chat");
      await choose(page, "calculating");
      await say(page, "What is 17 * 24?");
      await expectAnswer(page, answer);
      await waitUntilSettled(page);
      const button = log(page).getByRole("button", { name: thumb });
      await button.click();
      await button.and(page.locator('[aria-pressed="true"]:not(:disabled)')).waitFor();
    };

    // The chat fails, and an alert on its scores fires.
    await ask("It is about 400.", "Bad answer");
    await open("/console/alerts/new");
    await page.getByLabel("Name", { exact: true }).fill("People dislike the answers");
    await page.getByLabel("Figure").selectOption({ label: "Feedback score" });
    await page.getByLabel("Key of the feedback").fill("user_score");
    await page.getByLabel("Fires when it is").selectOption({ label: "below" });
    await page.getByLabel("Threshold, score").fill("0.5");
    await page.getByLabel("Window").selectOption({ label: "3 h" });
    await page.getByText("Evaluations in a row").click();
    await page.getByLabel("Beyond the threshold, to fire").fill("1");
    await page.getByLabel("Within the threshold, to resolve").fill("1");
    await page.getByRole("button", { name: "Add channel" }).click();
    await page.getByLabel("Address").fill(receiver.url);
    await page.getByRole("button", { name: "Create alert" }).click();
    await page.getByText("not evaluated").waitFor();
    const alert = new URL(page.url()).pathname;
    const history = page.getByRole("table", { name: "History" });
    await nextMinute();
    await history.getByRole("row", { name: /^firing 0 delivered/ }).waitFor();

    // Found by its score, it becomes an example with the right answer.
    const [project] = await call<{ id: string }[]>("GET", "/api/v1/sessions?reference_free=true");
    const filter = 'and(eq(feedback_key, "user_score"), eq(feedback_score, 0))';
    const query = new URLSearchParams({ project: project?.id ?? "", filter });
    await open(`/traces?${query.toString()}`);
    await page.getByRole("table", { name: "Traces" }).locator("tbody a").first().click();
    await page.getByRole("button", { name: "Add to" }).click();
    await page.getByRole("menuitem", { name: "Add to dataset" }).click();
    const dialog = page.getByRole("dialog", { name: "Add to dataset" });
    await dialog.getByLabel("Dataset", { exact: true }).selectOption({ label: "New dataset" });
    await dialog.getByLabel("Name of the new dataset").fill("sums");
    await dialog.getByLabel("Expected answer").fill("408");
    await dialog.getByRole("button", { name: "Add run" }).click();
    await dialog.waitFor({ state: "detached" });

    // The experiment before the change is the baseline.
    await open("/console/datasets");
    await page.getByRole("link", { name: "sums" }).click();
    const dataset = new URL(page.url()).pathname;
    const experiment = async () => {
      await page.getByRole("link", { name: "Run experiment" }).click();
      await page.getByLabel("Assistant", { exact: true }).selectOption({ label: "calculating" });
      await page.getByRole("checkbox", { name: /contains_expected/ }).check();
      expect(await findingsInBothThemes(page)).toEqual([]);
      await page.getByRole("button", { name: "Run experiment" }).click();
      await page.waitForURL("**/console/experiments/*experiment=*");
    };
    await experiment();
    const comparison = page.getByRole("table", { name: "Comparison" });
    await comparison.getByRole("columnheader", { name: /calculating-.*contains_expected 0/ }).waitFor();

    // Another prompt is released, and the assistant gets it.
    await push(BETTER);
    await open("/console/prompts/sums");
    await page.getByRole("button", { name: "Move prod here" }).click();
    await page.getByRole("button", { name: "Move prod here" }).waitFor({ state: "detached" });
    const prompt = await readReleased();
    expect(prompt).toBe(BETTER);
    await open(`/console/assistants/${assistant_id}`);
    await page.getByLabel("system_prompt").fill(prompt);
    await page.getByRole("button", { name: "Save as a new version" }).click();
    await checkEventually(
      () => call<{ version: number }>("GET", `/assistants/${assistant_id}`),
      ({ version }) => expect(version).toBe(2),
    );

    // The next experiment is better.
    await open(dataset);
    await experiment();
    await comparison.getByRole("columnheader", { name: /calculating-.*baseline.*contains_expected 0/ }).waitFor();
    await comparison
      .getByRole("columnheader", { name: /calculating-.*contains_expected 1.*\+1.*1 better, 0 worse/ })
      .waitFor();
    await comparison.getByText("contains_expected 1, better").waitFor();
    const compared = page.url();

    // People like the answers again, and the alert resolves.
    await ask("It is 408.", "Good answer");
    await nextMinute();
    await open(alert);
    await history.getByRole("row", { name: /^resolved 0\.5 delivered/ }).waitFor();
    await checkEventually(
      async () => receiver.received.map(({ body }) => body.type),
      (types) => expect(types).toEqual(["alert.firing", "alert.resolved"]),
    );

    // Compared the other way around, it is a regression.
    await page.goto(compared);
    await page.getByLabel("Baseline").selectOption({ index: 1 });
    await comparison.getByRole("columnheader", { name: /calculating-.*0 better, 1 worse/ }).waitFor();
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
