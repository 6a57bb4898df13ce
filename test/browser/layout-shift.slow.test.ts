/** What is shown stays where it is: what comes later has its place, and what comes above is scrolled past. */
import type { BrowserContextOptions, Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import type { Access } from "../support/server.ts";
import { sharedServer } from "../support/shared-server.ts";
import { sendLongViews } from "./long-views.ts";
import { answers, browserHere, findComposer, checkEventually, log, onStage, PHONE, type Stage, visit } from "./page.ts";

const MOST = 0.02;
const RUNS = 100;
const SPANS = 2_001;
/** Milliseconds without a request after which a view is complete. */
const QUIET = 1_000;

/** Adds up, in `window.shifted`, how far elements move by themselves, and notes which. */
const COUNT = `
  window.shifted = 0;
  window.moved = [];
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput, sources } of list.getEntries()) {
      if (hadRecentInput) continue;
      window.shifted += value;
      for (const { node } of sources) window.moved.push([value, node?.className ?? node?.textContent]);
    }
  }).observe({ type: "layout-shift", buffered: true });
`;

describe.runIf(browserHere)("nothing moves while a view loads", () => {
  const stage = onStage(() => sharedServer());
  const long = sendLongViews(stage, RUNS, SPANS);

  const views: [name: string, path: () => string, isThere: (page: Page) => Promise<unknown>][] = [
    ["the overview", () => "/", (page) => page.locator("canvas").nth(3).waitFor()],
    ["the composer", () => "/chat", (page) => findComposer(page).waitFor()],
    ["the list of traces", () => "/traces", (page) => page.getByRole("row").nth(1).waitFor()],
    [
      `a thread of ${RUNS} runs`,
      () => `/chat/${long.thread}`,
      async (page) => {
        await answers(page)
          .getByText(`turn ${RUNS - 1}`)
          .waitFor();
        await checkEventually(
          () => log(page).getByRole("article").count(),
          (count) => expect(count).toBe(60),
        );
      },
    ],
    [`a trace of ${SPANS} runs`, () => `/traces/${long.trace}`, (page) => page.getByText("2,001 runs").waitFor()],
  ];
  for (const [size, options] of [
    ["on a desk", {}],
    ["on a phone", PHONE],
  ] as const)
    for (const [name, path, isThere] of views)
      it(`${name}, ${size}`, () => expectStill(stage, options, path(), isThere));

  it.each([
    ["on a desk", {}],
    ["on a phone", PHONE],
  ])("the first steps in an empty workspace, %s", async (_size, options) => {
    const server = await stage.server.startAnother();
    await expectStill({ ...stage, server }, options, "/", (page) =>
      page.getByRole("list", { name: "First steps" }).waitFor(),
    );
  });

  it.each([0, 20])("a turn, when earlier ones are shown above it, %i pixels below the top", async (top) => {
    const { page, close } = await visit(stage, { path: `/chat/${long.thread}` });
    await checkEventually(
      () => log(page).getByRole("article").count(),
      (count) => expect(count).toBe(60),
    );
    const earlier = log(page).getByRole("button", { name: "Show earlier messages (40 turns)" });
    // A reader scrolls by the wheel: the page then no longer follows the end.
    await log(page).hover();
    await page.mouse.wheel(0, -100_000);
    await log(page).evaluate((element, to) => ((element as unknown as { scrollTop: number }).scrollTop = to), top);
    const turn = log(page).getByRole("article").filter({ hasText: "turn 40" }).first();
    const before = await turn.boundingBox();
    await earlier.click();
    await log(page).getByRole("article").nth(99).waitFor({ state: "attached" });
    await waitUntilQuiet(page);
    expect(Math.abs(((await turn.boundingBox())?.y ?? 0) - (before?.y ?? 0))).toBeLessThan(2);
    await close();
  });
});

async function expectStill(
  stage: Stage<Access>,
  options: BrowserContextOptions,
  path: string,
  isThere: (page: Page) => Promise<unknown>,
): Promise<void> {
  const { page, close } = await visit(stage, { path: "/console/nothing", ...options });
  await page.addInitScript(COUNT);
  await page.goto(stage.server.url + path);
  await isThere(page);
  await waitUntilQuiet(page);
  const shifted = await page.evaluate<number>("window.shifted");
  const moved = shifted > MOST ? await page.evaluate("window.moved") : [];
  expect({ shifted: Math.max(shifted, MOST), moved }).toEqual({ shifted: MOST, moved: [] });
  await close();
}

/** Waits until no request has been sent or answered for a second. */
async function waitUntilQuiet(page: Page): Promise<void> {
  let last = Date.now();
  for (const event of ["request", "requestfinished"] as const) page.on(event as "request", () => (last = Date.now()));
  await checkEventually(
    async () => Date.now() - last,
    (since) => expect(since).toBeGreaterThan(QUIET),
  );
}
