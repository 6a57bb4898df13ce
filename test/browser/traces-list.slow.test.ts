/** The list of traces: what it shows beside it, its columns, its older pages, and links to it. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { sendTrace } from "../support/sdk-trace.ts";
import { sharedServer } from "../support/shared-server.ts";
import {
  browserHere,
  choose,
  checkEventually,
  expectAnswer,
  expectNoSidewaysScroll,
  findings,
  log,
  onStage,
  PHONE,
  say,
  waitUntilSettled,
  visit,
} from "./page.ts";

const list = (page: Page) => page.getByRole("table", { name: "Traces" });
/** The rows of the list, without its head. */
const findRows = (page: Page) => list(page).locator("tbody tr[data-key]");
const row = (page: Page, name: RegExp) => page.getByRole("tree").getByRole("treeitem", { name }).first();
const output = (page: Page) => page.getByRole("region", { name: "Output", exact: true }).first();

/** These tests are compiled without the types of the DOM. */
interface Box {
  getBoundingClientRect(): { left: number; right: number };
}

describe.runIf(browserHere)("the list of traces in the browser", () => {
  const stage = onStage(() => sharedServer("graphs"));

  const send = (project: string, name: string, text = "fine", failed = false) =>
    sendTrace(stage.server, { project, name, text, failed });

  it("has a link to each run of a turn that waited for a decision", async () => {
    const { page, close } = await visit(stage);
    await choose(page, "approval");
    await say(page, "Write to ada@example.com that the build is green");
    await page.getByRole("button", { name: "Approve send_email" }).click();
    await expectAnswer(page, "Sent to ada@example.com.");
    await waitUntilSettled(page);
    await log(page).getByRole("link", { name: "Trace 2" }).click();
    await row(page, /^send_email tool/).waitFor();
    await page.goBack();
    await log(page).getByRole("link", { name: "Trace 1" }).click();
    await row(page, /^approval chain/).waitFor();
    expect(await row(page, /^send_email tool/).count()).toBe(0);
    await close();
  });

  it("opens a trace beside the list, and goes through the list by J and K", async () => {
    for (const name of ["third", "second", "first"]) await send("peeked", name);
    const { page, troubles, close } = await visit(stage, { path: "/traces" });
    await page.getByLabel("Project").selectOption("peeked");
    await findRows(page).filter({ hasText: "first" }).getByText("What now?").click();
    const peek = (name: string) => page.getByRole("complementary", { name: `Trace ${name}` });
    await peek("first")
      .getByRole("treeitem", { name: /^look_up/ })
      .waitFor();
    expect(page.url()).toContain("peek=");
    expect(await findings(page)).toEqual([]);
    await page.keyboard.press("j");
    await peek("second").waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("k");
    await peek("second").waitFor();
    await page.reload();
    await peek("second")
      .getByRole("treeitem", { name: /^look_up/ })
      .waitFor();
    await page.keyboard.press("Escape");
    await peek("second").waitFor({ state: "detached" });
    expect(await findRows(page).count()).toBe(3);
    expect(troubles).toEqual([]);
    await close();
  });

  it("shows the columns that are chosen, and no two in one place", async () => {
    await send("columns", "a_rather_long_name_of_a_graph_that_its_user_gave_it", "Error: no", true);
    const { page, close } = await visit(stage, { path: "/traces" });
    await page.getByLabel("Project").selectOption("columns");
    await findRows(page).waitFor();
    const heads = () => list(page).getByRole("columnheader").allTextContents();
    expect(await heads()).toContain("Latency");
    await page.getByRole("button", { name: "Columns" }).click();
    await page.getByRole("menuitemcheckbox", { name: "Latency" }).click();
    await page.keyboard.press("Escape");
    await page.reload();
    await findRows(page).waitFor();
    expect(await heads()).not.toContain("Latency");
    for (const width of [1280, 1000, 700]) {
      await page.setViewportSize({ width, height: 800 });
      // One look at all cells: a narrower page shows fewer columns, one frame later.
      await checkEventually(
        () =>
          findRows(page)
            .first()
            .locator("td")
            .evaluateAll((cells) =>
              cells.map((cell) => {
                const { left, right } = (cell as unknown as Box).getBoundingClientRect();
                return { left, right };
              }),
            ),
        (boxes) => {
          for (const [index, { left }] of boxes.entries())
            expect(left).toBeGreaterThanOrEqual((boxes[index - 1]?.right ?? 0) - 1);
          expect(boxes.length).toBeGreaterThan(1);
        },
      );
    }
    await close();
  });

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

  it("sorts by a column, and shows the output and the first token of a model below the root", async () => {
    await post("/runs/batch", {
      post: [
        ...createStreamed("quick", 1_000, 400, "the short answer"),
        ...createStreamed("slow", 9_000, 2_000, "the long answer"),
        ...createStreamed("middle", 4_000, 800, "another answer"),
      ],
      patch: [],
    });
    const { page, close } = await visit(stage, { path: "/traces", viewport: { width: 1600, height: 900 } });
    await page.getByLabel("Project").selectOption("sorted");
    await findRows(page).filter({ hasText: "the long answer" }).filter({ hasText: "2.00 s" }).waitFor();
    const names = () => findRows(page).locator("td:nth-child(2)").allTextContents();
    await list(page).getByRole("button", { name: "Latency" }).click();
    await checkEventually(names, (found) => expect(found).toEqual(["slow", "middle", "quick"]));
    await list(page).getByRole("button", { name: "Latency" }).click();
    await checkEventually(names, (found) => expect(found).toEqual(["quick", "middle", "slow"]));
    const head = list(page).getByRole("columnheader", { name: "Latency" });
    expect(await head.getAttribute("aria-sort")).toBe("ascending");
    expect(await head.textContent()).toBe("Latency ↑");
    await close();
  });

  it("shows the first token of each trace, however many models one of them calls", async () => {
    const at = Date.now() - 60_000;
    const iso = (ms: number) => new Date(at + ms).toISOString();
    const createModels = (name: string, from: number, count: number): object[] => {
      const id = crypto.randomUUID();
      const run = { trace_id: id, session_name: "talkative", inputs: {}, outputs: {}, end_time: iso(from + 9_000) };
      return [
        { ...run, id, name, run_type: "chain", start_time: iso(from) },
        ...Array.from({ length: count }, (_, i) => ({
          ...run,
          id: crypto.randomUUID(),
          parent_run_id: id,
          name: "model",
          run_type: "llm",
          start_time: iso(from + i),
          events: [{ name: "new_token", time: iso(from + i + 700) }],
        })),
      ];
    };
    await post("/runs/batch", { post: createModels("before", 0, 1), patch: [] });
    const many = createModels("talkative", 10_000, 520);
    for (let i = 0; i < many.length; i += 400) await post("/runs/batch", { post: many.slice(i, i + 400), patch: [] });
    await post("/runs/batch", { post: createModels("after", 20_000, 1), patch: [] });
    const { page, close } = await visit(stage, { path: "/traces", viewport: { width: 1600, height: 900 } });
    await page.getByLabel("Project").selectOption("talkative");
    for (const name of ["before", "talkative", "after"])
      await findRows(page).filter({ hasText: name }).getByText("700 ms").waitFor();
    expect(await findRows(page).count()).toBe(3);
    await close();
  });

  it.each([
    ["a desk", {}, (start: string, cost: string) => [start, cost]],
    // A phone has them in the second line of a row.
    ["a phone", PHONE, (start: string, cost: string) => [`Start: ${start}.*Latency: 1\\.50 s.*Cost: ${cost}`]],
  ])("has the clock time of a start and an amount of money on %s", async (_, options, listShown) => {
    const project = `priced-${crypto.randomUUID()}`;
    const createPriced = (name: string, total_cost: number, begin: number) => ({
      id: crypto.randomUUID(),
      session_name: project,
      name,
      run_type: "llm",
      start_time: new Date(begin).toISOString(),
      end_time: new Date(begin + 1_500).toISOString(),
      inputs: {},
      outputs: { usage_metadata: { input_tokens: 3, output_tokens: 2, total_tokens: 5, total_cost } },
    });
    const [now, yesterday] = [Date.now() - 20_000, Date.now() - 30 * 3_600_000];
    const priced = [createPriced("dear", 12.3, now), createPriced("cheap", 0.0042, yesterday)];
    const runs = priced.map((run) => ({ ...run, trace_id: run.id }));
    await post("/runs/batch", { post: runs, patch: [] });
    const { page, close } = await visit(stage, { ...options, path: `/traces?range=7d` });
    await page.getByLabel("Project").selectOption(project);
    for (const [name, start, cost] of [
      ["dear", "\\d{1,2}:\\d\\d:\\d\\d\\s[AP]M", "\\$12\\.30"],
      ["cheap", "[A-Z][a-z]{2} \\d{1,2}, \\d{1,2}:\\d\\d\\s[AP]M", "\\$0\\.0042"],
    ] as const) {
      const found = findRows(page).filter({ hasText: name });
      await found.waitFor();
      const cells = await found.locator("td").allTextContents();
      for (const shown of listShown(start, cost))
        expect(cells).toContainEqual(expect.stringMatching(new RegExp(shown)));
    }
    await expectNoSidewaysScroll(page);
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

  /** A root, and below it a model call whose first token came after `first` milliseconds. */
  function createStreamed(name: string, took: number, first: number, text: string): object[] {
    const [root, child] = [crypto.randomUUID(), crypto.randomUUID()];
    const begin = Date.now() - 20_000;
    const iso = (ms: number) => new Date(begin + ms).toISOString();
    const run = { trace_id: root, session_name: "sorted", start_time: iso(0), end_time: iso(took), outputs: { text } };
    const events = [{ name: "new_token", time: iso(first) }];
    return [
      { ...run, id: root, name, run_type: "chain", inputs: {} },
      { ...run, id: child, parent_run_id: root, name: "model", run_type: "llm", inputs: {}, events },
    ];
  }

  it("sorts all traces of the range, and continues to older ones", async () => {
    const begin = Date.now() - 200_000;
    const runs = Array.from({ length: 51 }, (_, i) => ({
      id: crypto.randomUUID(),
      name: i === 0 ? "slowest" : `trace_${i}`,
      run_type: "chain",
      session_name: "many",
      start_time: new Date(begin + i * 1_000).toISOString(),
      end_time: new Date(begin + i * 1_000 + (i === 0 ? 60_000 : 1_000 + i)).toISOString(),
      inputs: {},
    }));
    await post("/runs/batch", { post: runs.map((run) => ({ ...run, trace_id: run.id })), patch: [] });
    const { page, close } = await visit(stage, { path: "/traces" });
    await page.getByLabel("Project").selectOption("many");
    await findRows(page).nth(49).waitFor();
    expect(await findRows(page).filter({ hasText: "slowest" }).count()).toBe(0);
    const latency = list(page).getByRole("columnheader", { name: "Latency" });
    await latency.getByRole("button").click();
    await checkEventually(
      () => findRows(page).allTextContents(),
      (rows) =>
        expect(rows.slice(0, 2)).toEqual([expect.stringContaining("slowest"), expect.stringContaining("trace_50")]),
    );
    expect(await latency.textContent()).toBe("Latency ↓");
    await page.getByRole("button", { name: "Show more" }).click();
    await checkEventually(
      () => findRows(page).count(),
      (count) => expect(count).toBe(51),
    );
    expect(await page.getByRole("button", { name: "Show more" }).count()).toBe(0);
    await close();
  });

  it("shows the beginning of what is large", async () => {
    const id = await send("large", "reader", "many words ".repeat(300_000));
    const { page, close } = await visit(stage, { path: `/traces/${id}` });
    await output(page).getByText("many words").first().waitFor();
    expect((await output(page).textContent())?.length).toBeLessThan(10_000);
    await page.getByRole("button", { name: /^Download all of it, 3\.\d MB$/ }).waitFor();
    await close();
  });
});
