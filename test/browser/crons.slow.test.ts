import { describe, expect, it } from "vitest";
import { sharedServer } from "../support/shared-server.ts";
import {
  browserHere,
  checkEventually,
  expectFacts,
  expectNoSidewaysScroll,
  findings,
  findingsInBothThemes,
  onStage,
  PHONE,
  visit,
} from "./page.ts";

interface Firing {
  thread_id: string;
  run_id: string;
}

interface Cron {
  cron_id: string;
  schedule: string;
  timezone: string | null;
  enabled: boolean;
  thread_id: string | null;
  on_run_completed: string | null;
  payload: { input?: unknown };
  next_run_date: string;
}

describe.runIf(browserHere)("crons in the browser", () => {
  const stage = onStage(() => sharedServer("graphs"));

  async function call<T = Cron>(path: string, body?: unknown, method = body === undefined ? "GET" : "POST") {
    const headers = { ...stage.server.headers, "content-type": "application/json" };
    const answer = await fetch(stage.server.url + path, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    expect(answer.status).toBeLessThan(300);
    const text = await answer.text();
    return (text === "" ? undefined : JSON.parse(text)) as T;
  }

  const newCron = (said: string, more: object = {}) =>
    call("/runs/crons", {
      assistant_id: "actor",
      schedule: "* * * * *",
      on_run_completed: "keep",
      input: { messages: [{ role: "user", content: said }] },
      ...more,
    });

  const clock = (time: number) => fetch(`${stage.server.url}/cdn-cgi/handler/scheduled?time=${time}`);

  const isOver = async ({ thread_id, run_id }: Firing): Promise<boolean> => {
    const answer = await fetch(`${stage.server.url}/threads/${thread_id}/runs/${run_id}`, {
      headers: stage.server.headers,
    });
    const { status } = answer.ok ? await answer.json<{ status: string }>() : { status: "pending" };
    return status !== "pending" && status !== "running";
  };

  /** Lets crons of every minute fire once, and waits for the ends of the runs. The ledger does not have them: no sweep follows. */
  async function waitUntilFired(...crons: Cron[]): Promise<void> {
    const due = Math.max(...crons.map(({ next_run_date }) => Date.parse(next_run_date)));
    for (const { cron_id, next_run_date } of crons) {
      // A minute may have begun between two crons.
      if (Date.parse(next_run_date) === due) continue;
      await call(`/runs/crons/${cron_id}`, { schedule: "* * * * *" }, "PATCH");
    }
    await clock(due);
    for (const { cron_id } of crons) await call(`/runs/crons/${cron_id}`, { enabled: false }, "PATCH");
    const firings = await call<Firing[]>("/runs/crons/firings", { cron_ids: crons.map(({ cron_id }) => cron_id) });
    expect(firings).toHaveLength(crons.length);
    await checkEventually(
      () => Promise.all(firings.map(isOver)),
      (over) => expect(over).not.toContain(false),
    );
  }

  it("teaches how to make one, and makes one", async () => {
    const { page, troubles, close } = await visit(stage, { path: "/console/crons" });
    await page.getByText("No crons yet.").waitFor();
    await page.getByText(`curl ${stage.server.url}/runs/crons`).waitFor();
    expect(await findings(page)).toEqual([]);
    await page.getByRole("link", { name: "New cron" }).click();
    await page.getByLabel("Assistant").selectOption({ label: "echo" });
    const save = page.getByRole("button", { name: "Create cron" });
    await page.getByLabel("Schedule").fill("0 25");
    await page.getByText("Write five fields").waitFor();
    expect(await save.isDisabled()).toBe(true);
    expect(await findings(page)).toEqual([]);
    await page.getByRole("button", { name: "Mondays at 9:00" }).click();
    await page.getByText("Next, in your time: Mon").waitFor();
    await page.getByLabel("Time zone").fill("Europe/Berlin");
    await page.getByLabel("Input").fill("{");
    await save.click();
    await page.getByRole("alert").getByText("The input is no JSON").waitFor();
    await page.getByLabel("Input").fill('{"messages": [{"role": "user", "content": "hi"}]}');
    await save.click();
    await page.getByRole("heading", { name: "Cron 0 9 * * 1" }).waitFor();
    await page.getByText("It has not been due yet.").waitFor();
    const made = await call(`/runs/crons/${page.url().split("/").at(-1)}`);
    expect(made).toMatchObject({ schedule: "0 9 * * 1", timezone: "Europe/Berlin", on_run_completed: "keep" });
    expect(troubles).toEqual([]);
    await call(`/runs/crons/${made.cron_id}`, undefined, "DELETE");
    await close();
  });

  it("shows how the last due times went, with their runs", async () => {
    const [well, badly] = [await newCron("say hello"), await newCron("fail")];
    await waitUntilFired(well, badly);
    const { page, troubles, close } = await visit(stage, { path: "/console/crons" });
    const row = (id: string) => page.locator(`tr[data-key="${id}"]`);
    await row(well.cron_id).getByText("0 of 1").waitFor();
    await row(badly.cron_id).getByText("1 of 1").waitFor();
    await row(badly.cron_id).getByText("paused").waitFor();
    expect(await findingsInBothThemes(page)).toEqual([]);
    await row(badly.cron_id).getByRole("link").first().click();
    await page.waitForURL(`**/console/crons/${badly.cron_id}`);
    await page.getByText("1 of the last 1 failed.").waitFor();
    const firing = page.getByRole("table", { name: "Last due times" }).getByRole("row", { name: /^failed/ });
    await page.setViewportSize({ width: 390, height: 844 });
    await expectFacts(firing, /^Trace: Open trace.*Thread: Open thread$/);
    await expectNoSidewaysScroll(page);
    await page.setViewportSize({ width: 1280, height: 800 });
    expect(await firing.getByRole("link", { name: "Open thread" }).getAttribute("href")).toMatch(/^\/chat\/.{36}$/);
    expect(await findingsInBothThemes(page)).toEqual([]);
    await firing.getByRole("link", { name: "Open trace" }).click();
    await page.getByText("It broke.").first().waitFor();
    expect(troubles).toEqual([]);
    for (const { cron_id } of [well, badly]) await call(`/runs/crons/${cron_id}`, undefined, "DELETE");
    await close();
  });

  it("pauses, resumes, changes and deletes one", async () => {
    const cron = await newCron("say hello", { schedule: "0 9 * * *" });
    const path = `/runs/crons/${cron.cron_id}`;
    const { page, close } = await visit(stage, { path: `/console/crons/${cron.cron_id}` });
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByRole("button", { name: "Resume" }).waitFor();
    expect((await call(path)).enabled).toBe(false);
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByRole("button", { name: "Pause" }).waitFor();
    expect((await call(path)).enabled).toBe(true);

    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("Schedule").fill("30 7 * * *");
    expect(await findings(page)).toEqual([]);
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { name: "Cron 30 7 * * *" }).waitFor();
    expect(await call(path)).toMatchObject({ schedule: "30 7 * * *", payload: { input: cron.payload.input } });

    await page.getByRole("button", { name: "Delete", exact: true }).click();
    expect(await findings(page)).toEqual([]);
    await page.getByRole("button", { name: "Delete cron" }).click();
    await page.waitForURL("**/console/crons");
    await page.locator(`tr[data-key="${cron.cron_id}"]`).waitFor({ state: "detached" });
    expect((await fetch(stage.server.url + path, { headers: stage.server.headers })).status).toBe(404);
    await close();
  });

  it("makes one on a thread", async () => {
    const { thread_id } = await call<{ thread_id: string }>("/threads", {});
    const { page, close } = await visit(stage, { path: `/console/crons/new?thread=${thread_id}` });
    expect(await page.getByLabel("Thread id").inputValue()).toBe(thread_id);
    await page.getByLabel("Thread id").fill(crypto.randomUUID());
    await page.getByRole("button", { name: "Create cron" }).click();
    await page
      .getByRole("alert")
      .getByText(/^Thread with ID .* not found\.$/)
      .waitFor();
    await page.getByLabel("Thread id").fill(thread_id);
    await page.getByRole("button", { name: "Create cron" }).click();
    await page.getByRole("link", { name: thread_id.slice(0, 8) }).waitFor();
    await call(`/threads/${thread_id}`, undefined, "DELETE");
    await close();
  });

  it("fits a phone", async () => {
    const cron = await newCron("say hello", { schedule: "*/15 8-18 * * *" });
    const { page, close } = await visit(stage, { ...PHONE, path: "/console/crons" });
    await page.getByRole("row", { name: /actor/ }).first().waitFor();
    await page.getByRole("columnheader", { name: "Next" }).waitFor();
    await expectNoSidewaysScroll(page);
    await page.goto(`${stage.server.url}/console/crons/${cron.cron_id}`);
    await page.getByRole("button", { name: "Edit" }).tap();
    await page.getByLabel("Schedule").waitFor();
    await expectNoSidewaysScroll(page);
    expect(await findings(page)).toEqual([]);
    await close();
  });
});
