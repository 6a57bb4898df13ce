/** The list of traces: its filters, its time range, and the views that keep them. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { sendTrace } from "../support/sdk-trace.ts";
import { sharedServer } from "../support/shared-server.ts";
import { browserHere, checkEventually, findings, onStage, visit } from "./page.ts";

const list = (page: Page) => page.getByRole("table", { name: "Traces" });
/** The rows of the list, without its head. */
const findRows = (page: Page) => list(page).locator("tbody tr[data-key]");

describe.runIf(browserHere)("the filters of traces in the browser", () => {
  const stage = onStage(() => sharedServer("graphs"));

  const send = (project: string, name: string, text = "fine", failed = false) =>
    sendTrace(stage.server, { project, name, text, failed });

  const value = (page: Page, group: string, name: RegExp) =>
    page.getByRole("region", { name: "Filters" }).getByRole("group", { name: group }).getByRole("button", { name });

  it("narrows the list by what its traces have, and keeps that as a view", async () => {
    await send("faceted", "slow_search");
    await send("faceted", "slow_search", "Error: no such key", true);
    await send("faceted", "reader");
    const { page, troubles, close } = await visit(stage, { path: "/traces?project=none" });
    await findRows(page).waitFor({ state: "detached" });
    const counts: string[] = [];
    page.on("request", (request) => {
      if (request.url().endsWith("/stats/series")) counts.push(String(request.postDataJSON().by));
    });
    await page.getByLabel("Project").selectOption("faceted");
    await value(page, "Name", /^slow_search ?2$/).waitFor();
    // The names are counted with the course of the runs.
    expect(counts.toSorted()).toEqual(["feedback", "name", "tag", "trace_model", "user"]);
    await value(page, "Status", /^error ?1$/).click();
    await checkEventually(
      () => findRows(page).allTextContents(),
      (rows) => expect(rows).toEqual([expect.stringContaining("no such key")]),
    );
    // The values of a facet are counted without it, and with the others.
    await value(page, "Name", /^slow_search ?1$/).click();
    await page.getByRole("button", { name: "Remove status: error" }).click();
    await checkEventually(
      () => findRows(page).count(),
      (count) => expect(count).toBe(2),
    );
    await value(page, "Latency", /^> 5 s/).click();
    await page.getByText("No traces match this filter.").waitFor();
    await value(page, "Latency", /^> 5 s/).click();
    await findRows(page).nth(1).waitFor();
    expect(await findings(page)).toEqual([]);

    await page.getByRole("button", { name: "Views" }).click();
    await page.getByLabel("Name of this view").fill("Searches");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Escape");
    await page.goto(`${stage.server.url}/traces`);
    await page.getByRole("button", { name: "Views" }).click();
    await page.getByRole("menuitem", { name: "Searches", exact: true }).click();
    await checkEventually(
      () => findRows(page).count(),
      (count) => expect(count).toBe(2),
    );
    expect(page.url()).toContain("name=slow_search");
    expect(troubles).toEqual([]);
    await close();
  });

  it("has the models, tags, users and feedback of the traces, and how many have each", async () => {
    const traces = [
      { name: "alpha", took: 9_000, tags: ["vip"], user_id: "u-1", model: "gpt-5", score: 1 },
      { name: "beta", took: 1_000, tags: ["vip"], user_id: "u-2", model: "gpt-5" },
      { name: "gamma", took: 500, tags: [], user_id: "u-1", model: "claude", score: 0 },
    ].map((trace) => ({ ...trace, id: crypto.randomUUID() }));
    const begin = Date.now() - 60_000;
    const runs = traces.flatMap(({ id, name, took, tags, user_id, model }) => {
      const time = { start_time: new Date(begin).toISOString(), end_time: new Date(begin + took).toISOString() };
      const run = { trace_id: id, session_name: "valued", inputs: {}, ...time };
      return [
        { ...run, id, name, tags, run_type: "chain", extra: { metadata: { user_id } } },
        {
          ...run,
          id: crypto.randomUUID(),
          parent_run_id: id,
          name: "call",
          run_type: "llm",
          extra: { metadata: { ls_model_name: model } },
        },
      ];
    });
    await post("/runs/batch", { post: runs, patch: [] });
    for (const { id, score } of traces)
      if (score !== undefined) await post("/feedback", { run_id: id, trace_id: id, key: "correct", score });
    const { page, troubles, close } = await visit(stage, { path: "/traces" });
    await page.getByLabel("Project").selectOption("valued");
    const expectRows = (names: string[]) =>
      checkEventually(
        async () => (await findRows(page).locator("td:nth-child(2)").allTextContents()).toSorted(),
        (found) => expect(found).toEqual(names),
      );
    for (const [group, name, names] of [
      ["Model", /^gpt-5 ?2$/, ["alpha", "beta"]],
      ["Tag", /^vip ?2$/, ["alpha", "beta"]],
      ["User", /^u-1 ?2$/, ["alpha", "gamma"]],
      ["Feedback", /^correct ≥ 0\.5 ?1$/, ["alpha"]],
      ["Feedback", /^correct ?2$/, ["alpha", "gamma"]],
      ["Latency", /^> 5 s$/, ["alpha"]],
    ] as const) {
      await value(page, group, name).click();
      await expectRows([...names]);
      await value(page, group, name).click();
      await expectRows(["alpha", "beta", "gamma"]);
    }
    // The values of the other facets are those of the traces that are left.
    await value(page, "User", /^u-2 ?1$/).click();
    await value(page, "Model", /^gpt-5 ?1$/).waitFor();
    await expect.poll(() => value(page, "Model", /^claude/).count()).toBe(0);
    expect(await findings(page)).toEqual([]);
    expect(troubles).toEqual([]);
    await close();
  });

  it("keeps the range and the order in a view, and deletes views", async () => {
    await send("viewed", "one");
    const { page, close } = await visit(stage, { path: "/traces" });
    await page.getByLabel("Project").selectOption("viewed");
    await findRows(page).waitFor();
    const save = async (name: string) => {
      await page.getByRole("button", { name: "Views" }).click();
      await page.getByLabel("Name of this view").fill(name);
      await page.keyboard.press("Enter");
      await page.getByRole("menuitem", { name, exact: true }).waitFor();
      await page.keyboard.press("Escape");
    };
    await save("Recent");
    await page.getByLabel("Time range").selectOption("Last 7 days");
    const latency = list(page).getByRole("columnheader", { name: "Latency" });
    await latency.getByRole("button").click();
    await latency.getByRole("button").click();
    await page.waitForURL(/sort=latency/);
    await save("Quickest of the week");
    await page.goto(`${stage.server.url}/traces`);
    const views = page.getByRole("button", { name: "Views" });
    await views.click();
    await page.getByRole("menuitem", { name: "Quickest of the week", exact: true }).click();
    await expect.poll(() => latency.getAttribute("aria-sort")).toBe("ascending");
    expect(await page.getByLabel("Time range").inputValue()).toBe("7d");
    expect(await page.getByLabel("Project").locator("option:checked").textContent()).toBe("viewed");
    await views.click();
    await page.getByRole("menuitem", { name: "Recent", exact: true }).click();
    await expect.poll(() => latency.getAttribute("aria-sort")).toBeNull();
    expect(await page.getByLabel("Time range").inputValue()).toBe("24h");
    await views.click();
    await page.getByRole("menuitem", { name: "Delete the view Quickest of the week" }).click();
    await page.getByRole("menuitem", { name: "Quickest of the week", exact: true }).waitFor({ state: "detached" });
    await page.reload();
    await views.click();
    await page.getByRole("menuitem", { name: "Recent", exact: true }).waitFor();
    expect(await page.getByRole("menuitem", { name: /Quickest of the week/ }).count()).toBe(0);
    await close();
  });

  it("shows the time that is drawn over the runs, or that is entered", async () => {
    await send("timed", "one");
    const { page, close } = await visit(stage, { path: "/traces" });
    await page.getByLabel("Project").selectOption("timed");
    await findRows(page).waitFor();
    const bars = page.getByRole("img", { name: /^Runs over time, 1 in all/ });
    await bars.waitFor();
    const box = await bars.boundingBox();
    if (!box) throw new Error("The bars are not in view.");
    await page.mouse.move(box.x + 4, box.y + 10);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width / 4, box.y + 10);
    await page.mouse.up();
    await page.waitForURL(/from=.*to=/);
    await page.getByText("No traces in this time range.").waitFor();
    await page.getByLabel("Time range").selectOption("Choose times…");
    const times = page.getByRole("dialog", { name: "Time range" });
    await times.getByLabel("From").fill("2026-01-02T03:04");
    await times.getByLabel("To", { exact: true }).fill("2026-01-01T03:04");
    await times.getByText("The end must be after the begin.").waitFor();
    expect(await findings(page)).toEqual([]);
    await times.getByLabel("To", { exact: true }).fill("2099-01-01T03:04");
    await times.getByRole("button", { name: "Show this time" }).click();
    await findRows(page).waitFor();
    await close();
  });

  it("finds failed traces by eq(error, true), and says what a field takes", async () => {
    await send("meant", "went_wrong", "Error: no such key", true);
    await send("meant", "went_well");
    const { page, close } = await visit(stage, { path: "/traces" });
    await page.getByLabel("Project").selectOption("meant");
    await findRows(page).nth(1).waitFor();
    const search = page.getByRole("textbox", { name: "Words or a filter" });
    await search.fill("eq(name, true)");
    await page.keyboard.press("Enter");
    await page.getByText("name takes a text in quotes").waitFor();
    await search.fill("eq(error, true)");
    await page.keyboard.press("Enter");
    await checkEventually(
      () => findRows(page).allTextContents(),
      (rows) => expect(rows).toEqual([expect.stringContaining("went_wrong")]),
    );
    await close();
  });

  async function post(path: string, body: unknown): Promise<void> {
    const headers = { ...stage.server.headers, "content-type": "application/json" };
    const answer = await fetch(stage.server.url + path, { method: "POST", headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(await answer.text());
  }
});
