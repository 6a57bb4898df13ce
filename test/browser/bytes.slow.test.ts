/** How many bytes a view needs before its content is shown, compressed as the server sends them. `npm run bench -- page` has them, too. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import type { Access } from "../support/server.ts";
import { sharedServer } from "../support/shared-server.ts";
import { sendLongViews } from "./long-views.ts";
import { answers, browserHere, findComposer, onStage, type Stage, visit } from "./page.ts";

/** The stream's client, 68 KB, is loaded when the page is idle: before the content where the data is slower than the code. */
const CHAT_MOST = 300_000;
const RUNS = 100;
const SPANS = 2_001;

describe.runIf(browserHere)("what comes before the content of a view", () => {
  const stage = onStage(() => sharedServer());
  const long = sendLongViews(stage, RUNS, SPANS);

  const views: [
    name: string,
    most: number,
    path: () => string,
    content: string,
    isThere: (page: Page) => Promise<unknown>,
  ][] = [
    ["the overview", 230_000, () => "/", "canvas", (page) => page.locator("canvas").first().waitFor()],
    ["the composer", CHAT_MOST, () => "/chat", "#composer", (page) => findComposer(page).waitFor()],
    [
      "the list of traces",
      230_000,
      () => "/traces",
      "tbody tr[data-key]",
      (page) => page.getByRole("row").nth(1).waitFor(),
    ],
    [
      `a thread of ${RUNS} runs`,
      CHAT_MOST,
      () => `/chat/${long.thread}`,
      "[data-part=text]",
      (page) =>
        answers(page)
          .getByText(`turn ${RUNS - 1}`)
          .waitFor(),
    ],
    [
      `a trace of ${SPANS} runs`,
      230_000,
      () => `/traces/${long.trace}`,
      "[role=treeitem]",
      (page) => page.getByRole("treeitem").nth(5).waitFor(),
    ],
  ];
  it.each(views)("%s: at most %i bytes", (_name, most, path, content, isThere) =>
    expectAtMost(stage, most, path(), content, isThere),
  );

  it("the first steps in an empty workspace: at most 230000 bytes", async () => {
    const server = await stage.server.startAnother();
    await expectAtMost({ ...stage, server }, 230_000, "/", "[aria-label='First steps']", (page) =>
      page.getByRole("list", { name: "First steps" }).waitFor(),
    );
  });
});

async function expectAtMost(
  stage: Stage<Access>,
  most: number,
  path: string,
  content: string,
  isThere: (page: Page) => Promise<unknown>,
): Promise<void> {
  const { page, close } = await visit(stage, { path: "/console/nothing" });
  await page.addInitScript(noteShown(content));
  await page.goto(stage.server.url + path);
  await isThere(page);
  const received = await page.evaluate<[name: string, bytes: number][]>(RECEIVED);
  const total = received.reduce((sum, [, bytes]) => sum + bytes, 0);
  expect(received.length).toBeGreaterThan(5);
  expect({ total: Math.max(total, most), received: total > most ? received : [] }).toEqual({
    total: most,
    received: [],
  });
  await close();
}

/** Sets `window.shown` to the time at which there is such an element. */
const noteShown = (selector: string) => `
  new MutationObserver((_, observer) => {
    if (!document.querySelector("${selector}")) return;
    window.shown = performance.now();
    observer.disconnect();
  }).observe(document, { childList: true, subtree: true });
`;

/** What had arrived by then, with its size as it is sent. */
const RECEIVED = `
  [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
    .filter(({ responseEnd }) => responseEnd > 0 && responseEnd <= window.shown)
    .map(({ name, encodedBodySize }) => [new URL(name).pathname, encodedBodySize])
`;
