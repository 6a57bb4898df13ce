import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { sendTrace } from "../support/sdk-trace.ts";
import type { Access } from "../support/server.ts";
import { sharedServer } from "../support/shared-server.ts";
import {
  browserHere,
  checkEventually,
  expectNoSidewaysScroll,
  findings,
  findingsInBothThemes,
  waitForFocus,
  hold,
  onStage,
  PHONE,
  visit,
} from "./page.ts";

const section = (page: Page, name: string) => page.getByRole("region", { name });
const figure = (page: Page, name: string) =>
  page.locator("dl > div").filter({ has: page.getByText(name, { exact: true }) });

interface Label {
  text: string;
  left: number;
  right: number;
  /** Of the canvas. */
  width: number;
}

/** Notes where the page draws text on canvases. */
const NOTE_LABELS = `
  window.labels = [];
  const draw = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    const { a, e } = this.getTransform();
    const { actualBoundingBoxLeft, actualBoundingBoxRight } = this.measureText(text);
    const [left, right] = [e + a * (x - actualBoundingBoxLeft), e + a * (x + actualBoundingBoxRight)];
    window.labels.push({ text, left, right, width: this.canvas.width });
    return draw.call(this, text, x, y);
  };`;

/** Starts a run from outside of the page, and waits for its end. */
async function run({ url, headers }: Access, assistant_id: string, content: string): Promise<string> {
  const call = async (path: string, body: unknown) => {
    const init = { method: "POST", headers: { ...headers, "content-type": "application/json" } };
    return (await fetch(url + path, { ...init, body: JSON.stringify(body) })).json<{ thread_id: string }>();
  };
  const { thread_id } = await call("/threads", {});
  const input = { messages: [{ role: "user", content }] };
  await call(`/threads/${thread_id}/runs/wait`, { assistant_id, input });
  return thread_id;
}

describe.runIf(browserHere)("the overview", () => {
  const stage = onStage(() => sharedServer("graphs"));

  it("teaches where nothing has run yet, and reads nothing twice when nothing has changed", async () => {
    const { page, close } = await visit(stage, { path: "/console/nothing" });
    const followed = page.waitForResponse((answer) => answer.url().endsWith("/api/v1/activity/stream"));
    let searches = 0;
    page.on("request", (request) => (searches += request.url().endsWith("/threads/search") ? 1 : 0));
    await page.goto(`${stage.server.url}/`);
    await followed;
    const steps = page.getByRole("list", { name: "First steps" });
    await steps.getByText(`LANGSMITH_ENDPOINT=${stage.server.url}`).waitFor();
    await section(page, "Waiting for a person").getByText("No threads are waiting for an answer.").waitFor();
    expect(await findings(page)).toEqual([]);
    expect(searches).toBe(2);
    await close();
  });

  it("shows an outline until it knows whether something has run", async () => {
    const { page, close } = await visit(stage, { path: "/console/nothing" });
    const release = await hold(page, (url) => url.pathname === "/api/v1/sessions");
    const figures = page.waitForResponse((answer) => answer.url().endsWith("/api/v1/runs/stats/series"));
    const told: (string | null)[] = [];
    await page.exposeFunction("tell", (text: string | null) => told.push(text));
    await page.addInitScript(`new MutationObserver(() => {
      if (document.body?.textContent.includes("No runs in this time range")) tell("No runs");
    }).observe(document, { subtree: true, childList: true, characterData: true })`);
    await page.goto(`${stage.server.url}/`);
    await (await figures).finished();
    await section(page, "Waiting for a person").getByText("No threads are waiting for an answer.").waitFor();
    await page.getByRole("main").getByRole("status").first().waitFor();
    release();
    await page.getByRole("heading", { name: "Nothing has run here yet" }).waitFor();
    expect(told).toEqual([]);
    await close();
  });

  it("leads from nothing to a first run, its trace, and a program with a key of its own", async () => {
    const { page, troubles, close } = await visit(stage, { path: "/" });
    const steps = page.getByRole("list", { name: "First steps" });
    await steps.getByRole("button", { name: "Create a key and fill it in" }).click();
    const variables = await steps.locator("pre").filter({ hasText: "LANGSMITH_API_KEY=weir_key_" }).textContent();
    const key = /LANGSMITH_API_KEY=(\S+)/.exec(variables ?? "")?.[1] ?? "";
    const answer = await fetch(`${stage.server.url}/threads/search`, {
      method: "POST",
      headers: { "x-api-key": key, "content-type": "application/json" },
      body: "{}",
    });
    expect(answer.status).toBe(200);
    expect(await findingsInBothThemes(page)).toEqual([]);
    await steps.getByRole("link", { name: "Talk to an agent" }).click();
    await page.waitForURL("**/chat");
    await steps.getByText("Choose an example above").waitFor();
    await steps.getByRole("button", { name: "Create a key and fill it in" }).click();
    await steps.locator("pre").filter({ hasText: "x-api-key: weir_key_" }).waitFor();
    const tab = (name: string) => steps.getByRole("tab", { name, selected: true });
    await tab("curl").focus();
    for (const [key, name, words] of [
      ["ArrowRight", "TypeScript", 'apiKey: "weir_key_'],
      ["End", "Python", 'api_key="weir_key_'],
      ["ArrowRight", "curl", "x-api-key: weir_key_"],
      ["ArrowLeft", "Python", 'api_key="weir_key_'],
      ["Home", "curl", "x-api-key: weir_key_"],
    ] as const) {
      await page.keyboard.press(key);
      await waitForFocus(page, tab(name));
      await steps.getByRole("tabpanel", { name }).getByText(words).waitFor();
    }
    expect(await findings(page)).toEqual([]);
    expect(troubles).toEqual([]);
    await close();
  });

  it("shows what waits as soon as it waits, without a reload, and leads to it", async () => {
    const { page, troubles, close } = await visit(stage, { path: "/" });
    const waiting = section(page, "Waiting for a person");
    await waiting.getByText("No threads are waiting").waitFor();
    const followed = page.waitForResponse((answer) => answer.url().endsWith("/api/v1/activity/stream"));
    await page.reload();
    await followed;
    const thread = await run(stage.server, "approval", "Write to ada@example.com that it is green");
    await waiting.getByRole("link", { name: /Write to ada/ }).click();
    await page.waitForURL(`**/chat/${thread}`);
    await page.getByRole("button", { name: "Approve send_email" }).waitFor();
    expect(troubles).toEqual([]);
    await close();
  });

  it("shows what changed after the view was read and before the stream began", async () => {
    const { page, troubles, close } = await visit(stage, { path: "/console/nothing" });
    const release = await hold(page, "**/api/v1/activity/stream");
    const waiting = section(page, "Waiting for a person");
    await page.goto(`${stage.server.url}/`);
    await waiting.getByRole("link", { name: /Write to ada/ }).waitFor();
    await section(page, "Running now").getByText("No threads are running.").waitFor();
    await run(stage.server, "approval", "Write to bob@example.com in between");
    release();
    await waiting.getByRole("link", { name: /Write to bob/ }).waitFor();
    expect(troubles).toEqual([]);
    await close();
  });

  it("shows a change that happened while the first answer was on its way", async () => {
    const { page, close } = await visit(stage, { path: "/console/nothing" });
    const followed = page.waitForResponse((answer) => answer.url().endsWith("/api/v1/activity/stream"));
    let read = 0;
    let release = () => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    await page.route(
      "**/threads/search",
      async (route) => {
        const response = await route.fetch();
        read += 1;
        await released;
        await route.fulfill({ response });
      },
      { times: 2 },
    );
    await page.goto(`${stage.server.url}/`);
    await followed;
    await checkEventually(
      async () => read,
      (count) => expect(count).toBe(2),
    );
    await run(stage.server, "approval", "Write to eve@example.com too");
    // The page has the last event of the run when the older answers arrive.
    await page.waitForTimeout(1_500);
    release();
    await section(page, "Waiting for a person")
      .getByRole("link", { name: /Write to eve/ })
      .waitFor();
    await close();
  });

  it("has the figures of a time as plots and as a table", async () => {
    const before = await fetch(`${stage.server.url}/api/v1/runs/stats/series`, {
      method: "POST",
      headers: { ...stage.server.headers, "content-type": "application/json" },
      body: '{"is_root": true}',
    }).then(async (answer) => (await answer.json<{ total: { run_count: number } }>()).total.run_count);
    await sendTrace(stage.server, { project: "shop", name: "went_well", text: "fine" });
    for (let i = 0; i < 2; i++)
      await sendTrace(stage.server, { project: "shop", name: "went_wrong", text: "Error: no such key", failed: true });
    const { page, troubles, close } = await visit(stage, { path: "/" });
    await checkEventually(
      () => figure(page, "Runs").textContent(),
      (text) => expect(text).toContain(String(before + 3)),
    );
    await page.getByRole("img", { name: /^Latency over time/ }).waitFor();
    // The day before had two runs.
    const older = new Date(Date.now() - 30 * 3_600_000).toISOString();
    for (let i = 0; i < 2; i++) {
      const id = crypto.randomUUID();
      const trace = { id, trace_id: id, name: "older", run_type: "chain", session_name: "shop", inputs: {} };
      await fetch(`${stage.server.url}/runs`, {
        method: "POST",
        headers: { ...stage.server.headers, "content-type": "application/json" },
        body: JSON.stringify({ ...trace, start_time: older, end_time: older }),
      });
    }
    await page.reload();
    await figure(page, "Runs")
      .getByText(`+${(before + 1) * 50}% on the period before`)
      .waitFor();
    expect(await page.locator("canvas").count()).toBe(4);
    // Each plot says its values at the pointer, beside those of the period before.
    const plots = page.locator("figure").filter({ has: page.locator("canvas") });
    const box = await plots.first().locator(".u-over").boundingBox();
    if (!box) throw new Error("The plot has no place.");
    await page.mouse.move(box.x + box.width - 8, box.y + 20);
    await plots
      .first()
      .locator("figcaption")
      .getByText(new RegExp(`^all${before + 3}$`))
      .waitFor();
    expect(await plots.locator("figcaption", { hasText: "before" }).count()).toBe(4);
    expect(await plots.nth(1).locator("figcaption").textContent()).toMatch(/p50\S+.*p99\S+/);
    const failing = section(page, "Recent failures");
    await failing.getByRole("link", { name: /went_wrong.*no such key.*2 times, last/ }).waitFor();
    expect(await findingsInBothThemes(page)).toEqual([]);
    await page.getByRole("button", { name: "Show as table" }).click();
    const table = page.getByRole("table", { name: /Last 24 hours/ });
    expect(await table.getByRole("row").count()).toBeGreaterThan(24);
    expect(await findingsInBothThemes(page)).toEqual([]);
    await failing
      .getByRole("link", { name: /went_wrong/ })
      .first()
      .click();
    await page.waitForURL("**/traces/*");
    expect(troubles).toEqual([]);
    await close();
  });

  it("chooses the time range that is drawn over a plot", async () => {
    const { page, close } = await visit(stage, { path: "/" });
    const plot = page.locator(".u-over").first();
    await plot.waitFor();
    const box = await plot.boundingBox();
    if (!box) throw new Error("The plot has no place.");
    await page.mouse.move(box.x + box.width / 2, box.y + 20);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width - 2, box.y + 40, { steps: 5 });
    await page.mouse.up();
    await page.waitForURL(/from=.*&to=/);
    expect(await page.getByLabel("Time range").locator("option:checked").textContent()).toBe("Custom range");
    await close();
  });

  it("cuts no label of an axis of long durations and small costs", async () => {
    const id = crypto.randomUUID();
    const [start_time, end_time] = [5_000_000, 0].map((ago) => new Date(Date.now() - ago).toISOString());
    const usage_metadata = { input_tokens: 1, output_tokens: 1, total_tokens: 2, total_cost: 0.0001 };
    const run = {
      id,
      trace_id: id,
      name: "long",
      run_type: "llm",
      session_name: "shop",
      inputs: {},
      start_time,
      end_time,
    };
    await fetch(`${stage.server.url}/runs`, {
      method: "POST",
      headers: { ...stage.server.headers, "content-type": "application/json" },
      body: JSON.stringify({ ...run, outputs: { usage_metadata } }),
    });
    const { page, close } = await visit(stage, { path: "/" });
    await page.addInitScript(NOTE_LABELS);
    await page.reload();
    const read = () => page.evaluate<Label[]>("window.labels");
    await checkEventually(read, (labels) => {
      const texts = labels.map(({ text }) => text);
      expect(texts).toEqual(expect.arrayContaining(["1 h 30 min", "$0.00005", "$0.0001"]));
    });
    expect((await read()).filter(({ left, right, width }) => left < 0 || right > width)).toEqual([]);
    await close();
  });

  it("fits a phone", async () => {
    const { page, close } = await visit(stage, { ...PHONE, path: "/" });
    await figure(page, "Runs").waitFor();
    await expectNoSidewaysScroll(page);
    expect(await findings(page)).toEqual([]);
    await close();
  });
});
