import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { startServer } from "../support/server.ts";
import { callAs } from "../support/workspace.ts";
import {
  browserHere,
  choose,
  checkEventually,
  expectNoSidewaysScroll,
  findings,
  findingsInBothThemes,
  onStage,
  PHONE,
  say,
  waitUntilSettled,
  visit,
} from "./page.ts";

interface Rule {
  id: string;
  display_name: string;
  is_enabled: boolean;
  sampling_rate: number;
  filter: string | null;
  evaluators: { structured: Record<string, unknown> }[] | null;
  webhooks: { url: string; headers: Record<string, string> | null }[] | null;
  stats: { done: number; failed: number; waiting: number };
}

describe.runIf(browserHere)("rules in the browser", () => {
  const stage = onStage(() => startServer({ AUTH: "keys", ALLOW_PRIVATE_ADDRESSES: "true" }));
  const call = <T = Rule>(method: string, path: string, body?: unknown) => callAs<T>(stage.server, method, path, body);
  let receiver: Receiver;
  beforeAll(async () => {
    receiver = await startReceiver();
  });
  afterAll(() => receiver.stop());

  /** The minutes that have passed for the server. Its sweep of rules comes once a minute. */
  let minutes = 0;
  const nextMinute = () =>
    fetch(`${stage.server.url}/cdn-cgi/handler/scheduled?time=${Date.now() + ++minutes * 60_000}`);

  /** Lets minutes pass until the rule has worked on `count` runs. */
  const workedOn = (id: string, count: number, what: "done" | "waiting" = "done") =>
    checkEventually(
      async () => {
        await nextMinute();
        return call("GET", `/api/v1/runs/rules/${id}`);
      },
      ({ stats }) => expect(stats[what]).toBe(count),
    );

  /** Sends a trace of the project. The project's id. */
  async function send(session_name: string, ...questions: string[]): Promise<string> {
    const post = questions.map((question) => ({
      id: crypto.randomUUID(),
      name: "support",
      run_type: "chain",
      session_name,
      start_time: new Date(Date.now() - 1_000).toISOString(),
      end_time: new Date().toISOString(),
      inputs: { question },
      outputs: { answer: `About ${question}` },
    }));
    await call("POST", "/api/v1/runs/batch", { post, patch: [] });
    const [project] = await call<{ id: string }[]>("GET", `/api/v1/sessions?name=${session_name}`);
    return project?.id ?? "";
  }

  const newRule = (session_id: string, more: object) =>
    call("POST", "/api/v1/runs/rules", { display_name: "length", session_id, sampling_rate: 1, ...more });
  const CODE = { code_evaluators: [{ code: "answer-length" }] };
  const readId = (url: string) => new URL(url).pathname.split("/").at(-1) ?? "";

  it("leads to a first rule, which scores what an agent says in the chat", async () => {
    const { page, troubles, close } = await visit(stage, { path: "/console/rules" });
    await page.getByText("No rules yet.").waitFor();
    expect(await findingsInBothThemes(page)).toEqual([]);
    await page.getByRole("link", { name: "Judge whether answers help" }).click();
    await page.getByText("No project has traces yet.").waitFor();
    expect(await page.getByLabel("Name", { exact: true }).inputValue()).toBe("Is the answer helpful?");
    await page.getByRole("button", { name: "Create rule" }).click();
    await page.getByRole("alert").getByText("Choose a project.").waitFor();

    // The chat makes the project.
    await page.goto(`${stage.server.url}/chat`);
    await choose(page, "echo");
    await say(page, "before the rule");
    await waitUntilSettled(page);
    await checkEventually(
      () => call<unknown[]>("GET", "/api/v1/sessions"),
      (projects) => expect(projects).toHaveLength(1),
    );
    await page.goto(`${stage.server.url}/console/rules`);
    await page.getByRole("link", { name: "New rule" }).click();
    await page.getByLabel("Name", { exact: true }).fill("Length of answers");
    await page.getByLabel("Filter", { exact: true }).fill("eq(is_root true)");
    await page.getByLabel("Sampling rate, %").fill("101");
    await page.getByRole("alert").getByText("position").waitFor();
    expect(await findingsInBothThemes(page)).toEqual([]);
    await page.getByLabel("Filter", { exact: true }).fill("eq(is_root, true)");
    await page.getByRole("button", { name: "Create rule" }).click();
    await page.getByRole("alert").getByText("The sampling rate is a number from 0 to 100.").waitFor();
    await page.getByLabel("Sampling rate, %").fill("100");
    await page.getByRole("button", { name: "Create rule" }).click();
    await page.getByRole("alert").getByText("Choose at least one action.").waitFor();
    await page.getByLabel("Functions that score").fill("nothing");
    await page.getByRole("button", { name: "Create rule" }).click();
    await page.getByRole("alert").getByText("answer-length").waitFor();
    await page.getByLabel("Functions that score").fill("answer-length");
    await page.getByRole("button", { name: "Create rule" }).click();
    await page.getByText("It has taken no run yet.").waitFor();
    const rule = readId(page.url());

    await page.goto(`${stage.server.url}/chat`);
    await choose(page, "echo");
    await say(page, "twelve chars");
    await waitUntilSettled(page);
    await workedOn(rule, 1);
    await page.goto(`${stage.server.url}/console/rules`);
    const rules = page.getByRole("table", { name: "Rules" });
    await rules.getByRole("row", { name: /active Length of answers 1 0 0 \$0\.00 code/ }).waitFor();
    expect(await findingsInBothThemes(page)).toEqual([]);
    await rules.getByRole("link", { name: "Length of answers" }).click();
    const scores = page.getByRole("table", { name: "Scores" });
    await scores.getByRole("row", { name: /answer_length 22 echo/ }).waitFor();
    expect(await findingsInBothThemes(page)).toEqual([]);
    await scores.getByRole("link", { name: "echo" }).click();
    await page.getByText("twelve chars").first().waitFor();
    expect(troubles).toEqual([]);
    await close();
  });

  it("changes, pauses and deletes a rule, and keeps what the form does not change", async () => {
    const project = await send("edited", "first");
    const queue = await call<{ id: string }>("POST", "/api/v1/annotation-queues", { name: "to review" });
    const judge = {
      prompt: [["human", "Is {{output}} right?"]],
      template_format: "mustache",
      variable_mapping: { answer: "output.answer" },
      schema: { type: "object", properties: { right: { type: "boolean" }, tone: { type: "string" } } },
      model: {
        provider: "openai",
        model: "small",
        base_url: `${receiver.url}/v1`,
        api_key: "secret",
        temperature: 0.5,
      },
    };
    const { id } = await newRule(project, {
      display_name: "edited",
      filter: "eq(is_root, true)",
      trace_filter: 'eq(name, "support")',
      sampling_rate: 0.07,
      evaluators: [{ structured: judge }],
      webhooks: [{ url: `${receiver.url}/hook`, headers: { authorization: "Bearer one" } }],
    });
    const path = `/api/v1/runs/rules/${id}`;
    const { stats: _, ...before } = await call<Record<string, unknown>>("GET", path);
    const { page, troubles, close } = await visit(stage, { path: `/console/rules/${id}` });
    await page.getByRole("button", { name: "Edit" }).click();
    expect(await page.getByLabel("Sampling rate, %").inputValue()).toBe("7");
    expect(await findingsInBothThemes(page)).toEqual([]);
    expect(await page.getByLabel("Project").isDisabled()).toBe(true);
    await page.getByLabel("Name", { exact: true }).fill("edited twice");
    await page.getByLabel("Add to annotation queue").selectOption({ label: "to review" });
    await page.getByLabel("Keep the traces for longer").check();
    await page.getByRole("button", { name: "Save rule" }).click();
    await page.getByRole("heading", { name: "edited twice" }).waitFor();
    await page.getByRole("link", { name: "to review" }).waitFor();
    const { stats: __, ...after } = await call<Record<string, unknown>>("GET", path);
    expect(after).toEqual({
      ...before,
      display_name: "edited twice",
      add_to_annotation_queue_id: queue.id,
      add_to_annotation_queue_name: "to review",
      extend_evaluator_trace_retention: true,
      extend_annotation_queue_trace_retention: true,
      extend_webhook_trace_retention: true,
      updated_at: expect.any(String),
    });

    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByText("paused", { exact: true }).waitFor();
    expect(await call("GET", path)).toMatchObject({
      is_enabled: false,
      webhooks: [{ headers: { authorization: "********" } }],
    });
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByText("active", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Delete rule" }).click();
    await page.waitForURL("**/console/rules");
    await page.getByRole("link", { name: "edited twice" }).waitFor({ state: "detached" });
    const gone = await fetch(stage.server.url + path, { headers: stage.server.headers });
    expect(gone.status).toBe(404);
    expect(troubles).toEqual([]);
    await close();
  });

  it("makes a judge, a webhook and their settings in the form", async () => {
    const project = await send("made", "first");
    const { page, troubles, close } = await visit(stage, { path: `/console/rules/new?project=${project}` });
    await page.getByLabel("Name", { exact: true }).fill("judged");
    await page.getByLabel("Sampling rate, %").fill("100");
    await page.getByRole("button", { name: "Add judge" }).click();
    const judge = page.getByRole("group", { name: "Judge 1" });
    // Echo answers with the prompt, which is what a judge may answer.
    await judge.getByLabel("Judged by").selectOption("assistant");
    await judge.getByLabel("Assistant", { exact: true }).selectOption({ label: "echo" });
    await judge.getByRole("button", { name: "Remove prompt 1" }).click();
    const roles = await judge.getByLabel("Role 1").getByRole("option").allTextContents();
    expect(roles).toEqual(["System", "User", "Assistant"]);
    await judge.getByRole("textbox", { name: "Prompt 1" }).fill('{"kind": true, "comment": "{{output.answer}}"}');
    await judge.getByLabel("Answer").selectOption("yes-no");
    await judge.getByLabel("Key of the feedback").fill("kind");
    await judge.getByText("Template").click();
    await judge.getByLabel("Format").selectOption("mustache");
    await page.getByRole("button", { name: "Add webhook" }).click();
    const hook = page.getByRole("group", { name: "Webhook 1" });
    await hook.getByLabel("Address").fill(`${receiver.url}/judged`);
    await hook.getByLabel("Headers").fill("no colon");
    await page.getByRole("button", { name: "Create rule" }).click();
    await page.getByRole("alert").getByText("Headers: write each as “name: value”").waitFor();
    await hook.getByLabel("Headers").fill("x-team: support\n");
    expect(await findingsInBothThemes(page)).toEqual([]);
    await page.getByRole("button", { name: "Create rule" }).click();
    await page.getByText("It has taken no run yet.").waitFor();
    const id = readId(page.url());
    expect((await call("GET", `/api/v1/runs/rules/${id}`)).evaluators).toMatchObject([
      {
        structured: {
          prompt: [["human", '{"kind": true, "comment": "{{output.answer}}"}']],
          template_format: "mustache",
          schema: { properties: { kind: { type: "boolean" } }, required: ["kind"] },
          model: { provider: "assistant" },
        },
      },
    ]);
    await send("made", "roses");
    await workedOn(id, 1);
    const scores = page.getByRole("table", { name: "Scores" });
    await scores.getByRole("row", { name: /kind true support About roses/ }).waitFor();
    const sent = receiver.received.filter((one) => one.path === "/judged");
    expect(sent.map(({ headers, body }) => [headers["x-team"], body.rule_id])).toEqual([["support", id]]);
    expect(troubles).toEqual([]);
    await close();
  });

  it("lists what failed with its run, and applies a rule to earlier runs", async () => {
    const project = await send("failing", "early");
    const { id } = await newRule(project, { display_name: "hook", webhooks: [{ url: `${receiver.url}/down` }] });
    const { page, troubles, close } = await visit(stage, { path: `/console/rules/${id}` });
    await page.getByText("No run has failed in the last 30 days.").waitFor();
    receiver.answers.push(503);
    await send("failing", "late");
    await workedOn(id, 1, "waiting");
    const failures = page.getByRole("table", { name: "Failures" });
    const row = failures.getByRole("row", { name: /tries again .*503.* support webhook/ });
    await row.waitFor();
    const waiting = page.getByRole("table", { name: "Waiting" });
    await waiting.getByRole("row", { name: /tries again support webhook/ }).waitFor();
    expect(await findingsInBothThemes(page)).toEqual([]);
    await row.getByRole("button").click();
    const details = page.getByRole("dialog", { name: "Failure" });
    await details.getByText("503").first().waitFor();
    expect(await findingsInBothThemes(page)).toEqual([]);
    await details.getByRole("link", { name: "support" }).click();
    await page.getByText("late").first().waitFor();
    await page.goto(`${stage.server.url}/console/rules`);
    await page.getByRole("row", { name: /hook .*503/ }).waitFor();

    await page.getByRole("link", { name: "hook", exact: true }).click();
    await page.getByRole("button", { name: "Apply to earlier runs" }).click();
    const dialog = page.getByRole("dialog", { name: "Apply to earlier runs" });
    expect(await findings(page)).toEqual([]);
    await dialog.getByLabel("From").fill("2050-01-01T00:00");
    await dialog.getByRole("button", { name: "Start backfill" }).click();
    await dialog.getByText("The end must be after the begin.").waitFor();
    await dialog.getByLabel("From").fill("2026-01-01T00:00");
    await dialog.getByRole("button", { name: "Start backfill" }).click();
    await page.getByRole("table", { name: "Backfills" }).getByRole("row").nth(1).waitFor();
    await checkEventually(
      async () => {
        await nextMinute();
        return page.getByRole("table", { name: "Backfills" }).textContent();
      },
      (text) => expect(text).toMatch(/completed.*nothing/),
    );
    expect((await call("GET", `/api/v1/runs/rules/${id}`)).stats.done).toBeGreaterThanOrEqual(1);
    expect(troubles).toEqual([]);
    await close();
  });

  it("shows rules to those who may only read, without a way to change them", async () => {
    const { id } = await newRule(await send("read", "first"), { display_name: "for readers", ...CODE });
    const { key } = await call<{ key: string }>("POST", "/api/v1/api-keys", { scopes: ["read"] });
    const reader = { ...stage, server: { ...stage.server, key } };
    const { page, close } = await visit(reader, { path: "/console/rules" });
    await page.getByRole("row", { name: /for readers/ }).waitFor();
    await expect.poll(async () => page.getByRole("link", { name: "New rule" }).count()).toBe(0);
    await page.getByRole("link", { name: "for readers" }).click();
    await page.getByText("It has taken no run yet.").waitFor();
    expect(new URL(page.url()).pathname).toBe(`/console/rules/${id}`);
    for (const name of ["Pause", "Edit", "Delete", "Apply to earlier runs"])
      expect(await page.getByRole("button", { name }).count()).toBe(0);
    await page.keyboard.press("Control+k");
    const find = page.getByRole("dialog", { name: "Go to" }).getByRole("combobox");
    await find.fill("create a rule");
    await page.getByRole("option", { name: "Create a rule" }).waitFor({ state: "detached" });
    await find.fill("Rules");
    await page.getByRole("option", { name: /^Rules/ }).waitFor();
    await close();
  });

  it("hides its page from those who may not read traces, and is in the palette of those who may write", async () => {
    const permissions = ["threads.read", "assistants.read", "runs.create"];
    await call("PUT", "/api/v1/roles/chatter", { permissions });
    const { key } = await call<{ key: string }>("POST", "/api/v1/api-keys", { role: "chatter" });
    const chatter = await visit({ ...stage, server: { ...stage.server, key } });
    const pages = (page: typeof chatter.page) => page.getByRole("navigation", { name: "Pages" });
    await pages(chatter.page).getByRole("link", { name: "Threads" }).waitFor();
    for (const name of ["Rules", "Alerts"])
      await expect.poll(async () => pages(chatter.page).getByRole("link", { name, exact: true }).count()).toBe(0);
    await chatter.close();
    const { page, close } = await visit(stage, { path: "/console/threads" });
    await pages(page).getByRole("link", { name: "Rules" }).waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog", { name: "Go to" }).getByRole("combobox").fill("create a rule");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/console/rules/new");
    await close();
  });

  it("fits a phone", async () => {
    const { id } = await newRule(await send("small", "first"), {
      display_name: "A rule with a name of many words that a phone has no room for",
      ...CODE,
    });
    const { page, close } = await visit(stage, { ...PHONE, path: "/console/rules" });
    await page.getByRole("table", { name: "Rules" }).waitFor();
    await expectNoSidewaysScroll(page);
    await page.goto(`${stage.server.url}/console/rules/${id}`);
    await page.getByRole("heading", { name: "Backfills" }).waitFor();
    await expectNoSidewaysScroll(page);
    expect(await findings(page)).toEqual([]);
    await page.goto(`${stage.server.url}/console/rules/new?example=helpful`);
    await page.getByRole("group", { name: "Judge 1" }).waitFor();
    await expectNoSidewaysScroll(page);
    expect(await findings(page)).toEqual([]);
    await close();
  });
});
