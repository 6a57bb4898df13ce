import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { sharedServer } from "../support/shared-server.ts";
import { callAs } from "../support/workspace.ts";
import {
  browserHere,
  choose,
  checkEventually,
  expectAnswer,
  expectNoSidewaysScroll,
  findings,
  waitForFocus,
  log,
  onStage,
  PHONE,
  say,
  waitUntilSettled,
  visit,
} from "./page.ts";

const tree = (page: Page) => page.getByRole("tree");
const row = (page: Page, name: RegExp) => tree(page).getByRole("treeitem", { name }).first();
const heading = (page: Page, name: string) => page.getByRole("heading", { level: 2, name });

describe.runIf(browserHere)("a trace in the browser", () => {
  const stage = onStage(() => sharedServer());

  async function send(post: object[]): Promise<void> {
    const answer = await fetch(`${stage.server.url}/runs/batch`, {
      method: "POST",
      headers: { ...stage.server.headers, "content-type": "application/json" },
      body: JSON.stringify({ post, patch: [] }),
    });
    expect(answer.status).toBeLessThan(300);
  }

  /** A trace of 40 steps with 50 tools each; the last tool of step 30 failed. */
  async function largeTrace(): Promise<string> {
    const uuid = () => crypto.randomUUID();
    const from = Date.now() - 60_000;
    const dot = (at: number, id: string) =>
      `${new Date(at).toISOString().replaceAll(/[-:.]/g, "").replace("Z", "000Z")}${id}`;
    const trace_id = uuid();
    const run = (id: string, name: string, at: number, took: number, above: string[], more: object = {}) => ({
      id,
      trace_id,
      name,
      run_type: "chain",
      session_name: "large",
      start_time: new Date(at).toISOString(),
      end_time: new Date(at + took).toISOString(),
      inputs: { name },
      outputs: {},
      ...(above.length > 0 ? { parent_run_id: above.at(-1)?.slice(-36) } : {}),
      dotted_order: [...above, dot(at, id)].join("."),
      ...more,
    });
    const root = dot(from, trace_id);
    const post: object[] = [run(trace_id, "nightly", from, 40_000, [])];
    for (let step = 0; step < 40; step++) {
      const id = uuid();
      const at = from + step * 1_000;
      const failed = step === 30 ? { error: "Error: it broke here" } : {};
      post.push(run(id, `step_${step}`, at, 900, [root]));
      for (let tool = 0; tool < 50; tool++)
        post.push(
          run(uuid(), `tool_${step}_${tool}`, at + tool * 10, 8, [root, dot(at, id)], {
            run_type: "tool",
            ...(tool === 49 ? failed : {}),
          }),
        );
    }
    for (let i = 0; i < post.length; i += 500) {
      await send(post.slice(i, i + 500));
    }
    return trace_id;
  }

  it("finds its way in a trace of 2,041 runs: next error, find, collapse, timeline, graph", async () => {
    const id = await largeTrace();
    const { page, troubles, close } = await visit(stage, { path: `/traces/${id}` });
    await page.getByText("2,041 runs").waitFor();
    // Only what is in view is drawn, and no failure is behind a button.
    expect(await tree(page).getByRole("treeitem").count()).toBeLessThan(100);
    await page.getByRole("button", { name: "Next error (1)" }).click();
    await waitForFocus(page, row(page, /^failed tool_30_49/));
    await heading(page, "tool_30_49").waitFor();
    await page.getByRole("region", { name: "Error" }).getByText("it broke here").waitFor();

    const find = page.getByLabel("Find a run");
    await find.fill("tool_12_");
    await find.press("Enter");
    await page.getByText("1 of 50").waitFor();
    await find.press("Shift+Enter");
    await page.getByText("50 of 50").waitFor();
    await heading(page, "tool_12_49").waitFor();

    await page.getByRole("button", { name: "Collapse all" }).click();
    await checkEventually(
      () => tree(page).getByRole("treeitem").count(),
      (count) => expect(count).toBe(1),
    );
    await row(page, /^nightly.*1 failed inside/).waitFor();
    await page.getByRole("button", { name: "Next error (1)" }).click();
    await waitForFocus(page, row(page, /^failed tool_30_49/));
    expect(await findings(page)).toEqual([]);
    await page.keyboard.press("ArrowUp");
    await waitForFocus(page, row(page, /^tool_30_48/));

    await page.getByRole("button", { name: "Timeline" }).click();
    await page.getByText("20 s", { exact: true }).waitFor();
    expect(await tree(page).getByRole("treeitem").count()).toBeLessThan(100);
    await page.getByRole("button", { name: "Zoom in" }).click();
    await page.getByText("20 s", { exact: true }).waitFor();
    await page.getByText("40 s", { exact: true }).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Graph" }).click();
    // Of 40 steps the graph is as small as can be read, and scrolls.
    await page.getByRole("button", { name: /^step_39/ }).click();
    await heading(page, "step_39").waitFor();
    expect(await findings(page)).toEqual([]);
    await page.reload();
    await heading(page, "step_39").waitFor();
    expect(troubles).toEqual([]);
    await close();
  });

  /** A root of 4 s. Its model takes the second half, and has its first token after a quarter of that. */
  async function sendModelTrace(): Promise<string> {
    const [id, from] = [crypto.randomUUID(), Date.now() - 60_000];
    const iso = (ms: number) => new Date(from + ms).toISOString();
    const own = { trace_id: id, session_name: "modelled", inputs: {}, end_time: iso(4_000) };
    const usage_metadata = { input_tokens: 1_000, output_tokens: 234, total_tokens: 1_234, total_cost: 0.0425 };
    await send([
      { ...own, id, name: "desk", run_type: "chain", start_time: iso(0), outputs: {} },
      {
        ...own,
        id: crypto.randomUUID(),
        parent_run_id: id,
        name: "writer",
        run_type: "llm",
        start_time: iso(2_000),
        outputs: { usage_metadata },
        events: [{ name: "new_token", time: iso(2_500) }],
      },
    ]);
    return id;
  }

  it.each([
    ["a desk", {}],
    ["a phone", PHONE],
  ])("has figures in the tree, and times in the timeline, on %s", async (_, options) => {
    const id = await sendModelTrace();
    const { page, troubles, close } = await visit(stage, { ...options, path: `/traces/${id}` });
    const model = row(page, /^writer llm/);
    await model.getByText("$0.04", { exact: true }).waitFor();
    const runs = page.getByRole("region", { name: "Runs", exact: true });
    expect(await runs.locator("[data-side], [data-first]").count()).toBe(0);
    if (options !== PHONE) await row(page, /^writer llm 2\.00 s 1,234 tokens \$0\.04/).waitFor();
    expect(await findings(page)).toEqual([]);
    await expectNoSidewaysScroll(page);

    await model.click();
    await page.getByRole("button", { name: "Timeline" }).click();
    await row(page, /^writer llm 2\.00 s first token after 500 ms/).waitFor();
    expect(await model.getAttribute("aria-selected")).toBe("true");
    expect(await runs.getByText("1,234").count()).toBe(0);
    const box = async (selector: string) => {
      const found = await model.locator(selector).boundingBox();
      if (!found) throw new Error(`${selector} is not shown.`);
      return found;
    };
    const [track, bar, first, label] = [
      await box("[data-track]"),
      await box("[data-track] > i"),
      await box("[data-first]"),
      await box("[data-side]"),
    ];
    expect(track.width).toBeGreaterThan((page.viewportSize()?.width ?? 0) * 0.45);
    expect((bar.x - track.x) / track.width).toBeCloseTo(0.5, 1);
    expect(bar.width / track.width).toBeCloseTo(0.5, 1);
    expect(first.width / bar.width).toBeCloseTo(0.25, 1);
    // It has no room after the bar.
    expect(label.x + label.width).toBeLessThanOrEqual(bar.x);
    await model.focus();
    await page.keyboard.press("ArrowUp");
    await waitForFocus(page, row(page, /^desk chain 4\.00 s/));
    expect(await findings(page)).toEqual([]);
    await expectNoSidewaysScroll(page);
    expect(troubles).toEqual([]);
    await close();
  });

  it.each([
    ["a desk", {}],
    ["a phone", PHONE],
  ])("fits the graph to its pane on %s, and zooms", async (_, options) => {
    const id = crypto.randomUUID();
    const from = Date.now() - 60_000;
    const iso = (ms: number) => new Date(from + ms).toISOString();
    // One step, six beside each other, and one: wider than a phone, and than half of a desk.
    const steps = ["plan", ...Array.from({ length: 6 }, (_, n) => `search_${n}`), "write"].map((name, n) => {
      const at = n === 0 ? 0 : n === 7 ? 2_000 : 1_000;
      const times = { start_time: iso(at + n), end_time: iso(at + 500) };
      return {
        id: crypto.randomUUID(),
        trace_id: id,
        parent_run_id: id,
        name,
        run_type: "chain",
        inputs: {},
        ...times,
      };
    });
    const root = {
      id,
      trace_id: id,
      name: "wide",
      run_type: "chain",
      inputs: {},
      start_time: iso(0),
      end_time: iso(3_000),
    };
    const post = [root, ...steps].map((run) => ({ ...run, session_name: "wide", outputs: {} }));
    await send(post);
    const { page, close } = await visit(stage, { ...options, path: `/traces/${id}?view=graph` });
    const pane = page.getByRole("region", { name: "Graph of the run" });
    await pane.getByRole("button", { name: /^write/ }).waitFor();
    const measureHidden = () =>
      pane.evaluate((element) => {
        const { scrollWidth, clientWidth, scrollHeight, clientHeight } = element as unknown as Record<string, number>;
        return [(scrollWidth ?? 0) - (clientWidth ?? 0), (scrollHeight ?? 0) - (clientHeight ?? 0)];
      });
    await checkEventually(measureHidden, (left) => expect(left).toEqual([0, 0]));
    expect(await findings(page)).toEqual([]);
    for (let n = 0; n < 4; n++) await page.getByRole("button", { name: "Zoom in" }).click();
    await checkEventually(measureHidden, ([across = 0]) => expect(across).toBeGreaterThan(0));
    await page.getByRole("button", { name: "Fit to the pane" }).click();
    await checkEventually(measureHidden, (left) => expect(left).toEqual([0, 0]));
    await close();
  });

  it("has the state after a run, feedback on it, and the run as JSON; and runs it again", async () => {
    const { page, troubles, close } = await visit(stage);
    await choose(page, "agent");
    await say(page, "What is 6 * 7?");
    await expectAnswer(page, "6 * 7 = 42.");
    await waitUntilSettled(page);
    await log(page).getByRole("link", { name: "Trace" }).click();
    await heading(page, "agent").waitFor();
    await page.getByRole("button", { name: "State" }).click();
    await page.getByRole("region", { name: "State after the run" }).getByText("6 * 7 = 42.").first().waitFor();
    await page.getByRole("button", { name: "Feedback" }).click();
    await page.getByText("No feedback on this run.").waitFor();
    await page.getByRole("button", { name: "Raw" }).click();
    await page.getByRole("region", { name: "Run as JSON" }).first().getByText('"run_type"').first().waitFor();
    expect(await findings(page)).toEqual([]);
    const old = page.url();
    await page.getByRole("button", { name: "Run again" }).click();
    await page.waitForURL("**/chat/*");
    expect(page.url()).not.toBe(old);
    await expectAnswer(page, "6 * 7 = 42.");
    expect(troubles).toEqual([]);
    await close();
  });

  it("runs it again with its own assistant", async () => {
    const { server } = stage;
    const run = { assistant_id: "approval", input: { messages: [{ role: "user", content: "Hello" }] } };
    const { thread_id } = await callAs<{ thread_id: string }>(server, "POST", "/threads", {});
    await callAs(server, "POST", `/threads/${thread_id}/runs/wait`, run);
    const [started] = await callAs<{ run_id: string }[]>(server, "GET", `/threads/${thread_id}/runs`);
    const { page, close } = await visit(stage, { path: `/traces/${started?.run_id}` });
    await page.getByRole("button", { name: "Run again" }).click();
    await page.waitForURL("**/chat/*");
    await expectAnswer(page, "You said");
    expect(await page.getByRole("button", { name: /^Assistant: approval/ }).count()).toBe(1);
    await close();
  });
});
