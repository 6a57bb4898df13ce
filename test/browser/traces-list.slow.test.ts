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

  async function post(path: string, body: unknown): Promise<void> {
    const headers = { ...stage.server.headers, "content-type": "application/json" };
    const answer = await fetch(stage.server.url + path, { method: "POST", headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(await answer.text());
  }

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
