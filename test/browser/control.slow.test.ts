/** Control of runs: the queue, rules, pauses, budgets, crashed runs, and threads that a deploy left behind. */
import { describe, expect, it } from "vitest";
import { startKillable, startServer } from "../support/server.ts";
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

interface Run {
  run_id: string;
  thread_id: string;
  status: string;
  position?: number;
}

const PATH = "/console/control";
const createRunBody = (content: string) => ({
  assistant_id: "agent",
  input: { messages: [{ role: "user", content }] },
});

describe.runIf(browserHere)("control in the browser", () => {
  const stage = onStage(() => startServer({ OFFLINE_MODEL_DELAY_MS: "20" }));
  const call = <T>(method: string, path: string, body?: unknown) => callAs<T>(stage.server, method, path, body);
  const newThread = async (title = "A thread") =>
    (await call<{ thread_id: string }>("POST", "/threads", { metadata: { title } })).thread_id;
  const start = async (content: string) =>
    call<Run>("POST", `/threads/${await newThread(content)}/runs`, createRunBody(content));
  const read = ({ thread_id, run_id }: Run) => call<Run>("GET", `/threads/${thread_id}/runs/${run_id}`);
  const untilStatus = (run: Run, status: string) =>
    checkEventually(
      () => read(run),
      (now) => expect(now.status).toBe(status),
    );

  it("creates a rule, shows the queue with positions and the use of the rule, and changes and deletes it", async () => {
    const { page, troubles, close } = await visit(stage, { path: PATH });
    await page.getByText("No rule limits the runs of this workspace.").waitFor();
    await page.getByText("No run waits for a rule.").waitFor();
    await page.getByRole("button", { name: "New rule" }).click();
    const dialog = page.getByRole("dialog", { name: "New rule" });
    await dialog.getByRole("button", { name: "Create rule" }).click();
    await dialog.getByRole("alert").getByText("Enter an ID.").waitFor();
    await dialog.getByLabel("ID", { exact: true }).fill("one");
    await dialog.getByRole("button", { name: "Create rule" }).click();
    await dialog.getByRole("alert").getByText("expected at least one of").waitFor();
    await dialog.getByLabel("Runs at once").fill("1");
    expect(await findingsInBothThemes(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Create rule" }).click();
    const rules = page.getByRole("table", { name: "Rules", exact: true });
    await rules.getByRole("row", { name: /^one 1 at once all runs/ }).waitFor();

    const first = await start("count to 3000");
    await untilStatus(first, "running");
    const [second, third] = [await start("second in line"), await start("third in line")];
    const waiting = page.getByRole("table", { name: "Waiting runs" });
    await waiting.getByRole("row", { name: /^1 second in line one: no free slot/ }).waitFor();
    const row = waiting.getByRole("row", { name: /^2 third in line one: no free slot/ });
    await row.waitFor();
    expect(await row.getByRole("link").getAttribute("href")).toBe(`/console/threads/${third.thread_id}`);
    await page
      .getByRole("table", { name: "Use of the rules" })
      .getByRole("row", { name: /1 of 1.* 2$/ })
      .waitFor();
    expect(await findingsInBothThemes(page)).toEqual([]);

    await rules.getByRole("button", { name: "Edit one" }).click();
    const edit = page.getByRole("dialog", { name: "Rule one" });
    await edit.getByLabel("Runs at once").fill("2");
    await edit.getByRole("button", { name: "Save rule" }).click();
    await rules.getByRole("row", { name: /^one 2 at once/ }).waitFor();
    await untilStatus(second, "success");
    await untilStatus(third, "success");
    await rules.getByRole("button", { name: "Delete one" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Delete rule" }).click();
    await page.getByText("No rule limits the runs of this workspace.").waitFor();
    await call("POST", `/threads/${first.thread_id}/runs/${first.run_id}/cancel?wait=true`);
    expect(troubles).toEqual([]);
    await close();
  });

  it("pauses and resumes a workspace, an assistant and a thread with one button", async () => {
    const thread = await newThread();
    const [agent] = await call<{ assistant_id: string }[]>("POST", "/assistants/search", { graph_id: "agent" });
    const assistant = agent?.assistant_id ?? "";
    const places = [
      ["workspace", PATH, "Workspace"],
      ["assistant", `/console/assistants/${assistant}`, "agent"],
      ["thread", `/console/threads/${thread}`, `Thread ${thread.slice(0, 8)}`],
    ] as const;
    const { page, close } = await visit(stage, { path: PATH });
    for (const [what, path, name] of places) {
      await page.goto(stage.server.url + path);
      await page.getByRole("button", { name: `Pause ${what}` }).click();
      await page
        .getByRole("button", { name: `Resume ${what}` })
        .first()
        .waitFor();
      const run = await call<Run>("POST", `/threads/${thread}/runs`, createRunBody("wait"));
      await checkEventually(
        () => read(run),
        (now) => expect(now).toMatchObject({ status: "pending", waiting_for: [{ reason: "paused" }] }),
      );
      await page.goto(stage.server.url + PATH);
      const row = page.getByRole("table", { name: "Paused" }).getByRole("row", { name });
      await page
        .getByRole("table", { name: "Waiting runs" })
        .getByRole("row", { name: /paused/ })
        .waitFor();
      expect(await findings(page)).toEqual([]);
      await row.getByRole("button", { name: `Resume ${what}` }).click();
      await row.waitFor({ state: "detached" });
      await untilStatus(run, "success");
    }
    await close();
  });

  it("shows a budget that is reached, and the run that a person approves", async () => {
    const { page, close } = await visit(stage, { path: PATH });
    await page.getByText(/^Prices of models: 0 of this workspace/).waitFor();
    await page.getByRole("button", { name: "New budget" }).click();
    const dialog = page.getByRole("dialog", { name: "New budget" });
    await dialog.getByLabel("ID", { exact: true }).fill("day");
    await dialog.getByLabel("Limit", { exact: true }).fill("1");
    await dialog.getByLabel("Unit").selectOption("tokens");
    expect(await findingsInBothThemes(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Create budget" }).click();
    const budgets = page.getByRole("table", { name: "Budgets" });
    await budgets.getByRole("row", { name: /^day 1 token a day all runs/ }).waitFor();
    await untilStatus(await start("say hello"), "success");
    const run = await start("say hello again");
    await untilStatus(run, "interrupted");
    await page.goto(`${stage.server.url}/chat/${run.thread_id}`);
    const decision = page.locator("[data-decision]");
    await decision.getByText(/The budget .*day.* is reached/).waitFor();
    await decision.getByRole("textbox").fill("10000");
    await decision.getByRole("button", { name: "Send answer" }).click();
    await checkEventually(
      () => call<{ status: string }>("GET", `/threads/${run.thread_id}`),
      (now) => expect(now.status).toBe("idle"),
    );
    await page.goto(stage.server.url + PATH);
    const spent = page.getByRole("table", { name: "Spent today" });
    await spent.getByRole("row", { name: /^day all runs .* of 10,001 tokens$/ }).waitFor();
    expect(await spent.getByRole("meter").getAttribute("aria-valuemax")).toBe("10001");
    expect(await findingsInBothThemes(page)).toEqual([]);
    await budgets.getByRole("button", { name: "Delete day" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Delete budget" }).click();
    await page.getByText("No budget limits the runs of this workspace.").waitFor();
    await close();
  });

  it("changes nothing for a key that only reads", async () => {
    await call("PUT", "/api/v1/flow/rules/mine", { key: "user", concurrency: 5 });
    await call("PUT", "/api/v1/budgets/mine", { per: "run", dollars: 100 });
    const { key } = await call<{ key: string }>("POST", "/api/v1/api-keys", { scopes: ["read"] });
    const reader = { ...stage, server: { ...stage.server, key } };
    const { page, close } = await visit(reader, { path: PATH });
    await page.getByRole("row", { name: /^mine 5 at once/ }).waitFor();
    await page.getByRole("row", { name: /^mine \$100.00 a run/ }).waitFor();
    await page.getByRole("heading", { name: "Threads on the deployed version" }).waitFor();
    const changes = page.getByRole("button", { name: /^(?:New|Edit|Delete|Pause|Resume)/ });
    expect(await changes.count()).toBe(0);
    expect(await findings(page)).toEqual([]);
    await close();
  });

  it("fits a phone", async () => {
    await call("PUT", "/api/v1/flow/rules/a-rule-with-a-long-name", { key: "metadata.team", starts_per_minute: 100 });
    const { page, close } = await visit(stage, { ...PHONE, path: PATH });
    await page.getByRole("row", { name: /a-rule-with-a-long-name/ }).waitFor();
    await expectNoSidewaysScroll(page);
    expect(await findings(page)).toEqual([]);
    await page.getByRole("button", { name: "New rule" }).tap();
    await page.getByRole("dialog", { name: "New rule" }).waitFor();
    await expectNoSidewaysScroll(page);
    expect(await findings(page)).toEqual([]);
    await call("DELETE", "/api/v1/flow/rules/a-rule-with-a-long-name");
    await close();
  });
});

describe.runIf(browserHere)("a crashed run", () => {
  const stage = onStage(() => startKillable({ RUN_MAX_ATTEMPTS: "1", OFFLINE_MODEL_DELAY_MS: "20" }));

  it("is listed, and continues from its last checkpoint", async () => {
    const { server } = stage;
    const { thread_id } = await callAs<{ thread_id: string }>(server, "POST", "/threads", {});
    const path = `/threads/${thread_id}`;
    await callAs(server, "POST", `${path}/runs`, createRunBody("count to 200"));
    await checkEventually(
      () => callAs<Run[]>(server, "GET", `${path}/runs`),
      ([run]) => expect(run?.status).toBe("running"),
    );
    await server.kill();
    await server.restart();
    await checkEventually(
      () => callAs<Run[]>(server, "GET", `${path}/runs`),
      ([run]) => expect(run?.status).toBe("error"),
    );
    const { page, close } = await visit(stage, { path: PATH });
    const row = page.getByRole("table", { name: "Crashed runs" }).getByRole("row", { name: /RunAttemptsExceeded/ });
    await row.getByRole("button", { name: "Resume from here" }).click();
    await row.getByText("continued").waitFor();
    expect(await findings(page)).toEqual([]);
    await checkEventually(
      () => callAs<{ status: string }>(server, "GET", path),
      (now) => expect(now.status).toBe("idle"),
    );
    expect(await callAs<Run[]>(server, "GET", `${path}/runs`)).toMatchObject([
      { status: "success" },
      { status: "error" },
    ]);
    await close();
  });
});
