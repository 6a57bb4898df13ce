/** A real Chromium on a real Weir, and the few gestures that the tests share. */
import { AxeBuilder } from "@axe-core/playwright";
import type { Browser, BrowserContextOptions, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, vi } from "vitest";
import { CHROMIUM, CHROMIUM_NEEDED, launch } from "../support/chromium.ts";
import type { Access, TestServer } from "../support/server.ts";

/** With CI=true a missing Chromium is a failure; elsewhere the tests are passed over. */
export const browserHere = process.env.CI === "true" || CHROMIUM !== undefined;
if (!browserHere) console.warn(`Not run: test/browser, because they need ${CHROMIUM_NEEDED}.`);

/** A browser, and the server that it visits. */
export interface Stage<S extends Access = TestServer> {
  server: S;
  browser: Browser;
}

/** Sets both up before the tests of a block, and takes them down after. They are there while a test runs. */
export function onStage<S extends TestServer>(start: () => Promise<S>): Stage<S> {
  const stage = {} as Stage<S>;
  beforeAll(async () => {
    [stage.server, stage.browser] = await Promise.all([start(), launch()]);
  });
  afterAll(async () => {
    await stage.browser?.close();
    await stage.server?.stop();
  });
  return stage;
}

const DESK: BrowserContextOptions = { viewport: { width: 1280, height: 800 } };
export const PHONE: BrowserContextOptions = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

export interface Visit {
  page: Page;
  /** What went wrong in the page: errors thrown, and everything its content policy refused. */
  troubles: string[];
  close: () => Promise<void>;
}

/** Opens the page signed in with the key of the server's workspace, as a new user. */
export async function visit(
  { browser, server: access }: Stage<Access>,
  { path = "/chat", signedIn = true, ...options }: BrowserContextOptions & { path?: string; signedIn?: boolean } = {},
): Promise<Visit> {
  const context = await browser.newContext({ ...DESK, reducedMotion: "reduce", ...options });
  const session = JSON.stringify({ kind: "key", secret: access.key });
  // Not in the frame that draws diagrams: it has an opaque origin and no storage.
  const signIn = `if (origin !== "null") sessionStorage.setItem("weir.session", ${JSON.stringify(session)})`;
  if (signedIn) await context.addInitScript(signIn);
  // Other files are at work on the same processors.
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  const troubles: string[] = [];
  page.on("pageerror", (error) => troubles.push(error.message));
  page.on("console", (message) => {
    if (message.text().includes("Content Security Policy")) troubles.push(message.text());
  });
  await page.goto(access.url + path);
  // The page's code is imported by a script, so it may run after the page is loaded. Its keys are bound then.
  await page.locator("#root > *, body:not(:has(#root))").first().waitFor({ state: "attached" });
  const close = async () => {
    // A handler that still waits for an answer fails when the context is closed.
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await context.close();
  };
  return { page, troubles, close };
}

/** A tab at the same address with what the tab keeps, which shows what the tab shows after a reload. */
export async function openCopy(page: Page): Promise<Page> {
  const kept = await page.evaluate("Object.entries(sessionStorage)");
  const copy = await page.context().newPage();
  const keep = `if (origin !== "null") for (const [key, text] of ${JSON.stringify(kept)}) sessionStorage.setItem(key, text)`;
  await copy.addInitScript(keep);
  await copy.goto(page.url());
  return copy;
}

/** What only the tab itself has: what it announced, and how far it is scrolled. */
const OF_THE_TAB = /^\s*- (status|alert|button "(Jump to latest|\d+ new)")/;

/** All that a page shows in an element, as assistive technology has it. */
export const describePage = async (page: Page, within = "body"): Promise<string[]> =>
  (await page.locator(within).ariaSnapshot({ timeout: 5_000 })).split("\n").filter((line) => !OF_THE_TAB.test(line));

export const findComposer = (page: Page) => page.locator("#composer");
export const log = (page: Page) => page.getByRole("log");
export const strip = (page: Page) => page.locator("[data-strip]");
export const answers = (page: Page) => log(page).locator('[data-part="text"]');

export async function choose(page: Page, assistant: string): Promise<void> {
  await page.getByRole("button", { name: /^Assistant:/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: assistant }).click();
  await page.getByRole("button", { name: new RegExp(`^Assistant: ${assistant}`) }).waitFor();
}

export async function say(page: Page, text: string): Promise<void> {
  await findComposer(page).fill(text);
  await page.getByRole("button", { name: /^(Send|Queue) message/ }).click();
}

/** The id of what the page shows, at the end of its address. */
export const readShownId = (page: Page): string => new URL(page.url()).pathname.split("/").at(-1) ?? "";

/** The statuses of the runs of the thread that the page shows, as the server has them. */
export async function readRunStatuses(page: Page, { url, headers }: Access): Promise<string[]> {
  const response = await fetch(`${url}/threads/${readShownId(page)}/runs`, { headers });
  return (await response.json<{ status: string }[]>()).map(({ status }) => status);
}

/** Waits until no run is under way, and the last of them is in the thread's history. */
export async function waitUntilSettled(page: Page): Promise<void> {
  await strip(page).and(page.locator(':not([data-tone="running"], [data-tone="lost"])')).waitFor({ timeout: 60_000 });
}

/** Waits until the keyboard is there. */
export const waitForFocus = (page: Page, what: Locator) => what.and(page.locator(":focus")).waitFor();

/** Keeps requests of the page without an answer until the function that it returns is called. */
export async function hold(page: Page, pattern: string | ((url: URL) => boolean)): Promise<() => void> {
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  await page.route(pattern, async (route) => {
    await released;
    await route.continue();
  });
  return () => release();
}

/** Waits for something to become true of the page. */
export const checkEventually = <T>(
  look: () => Promise<T>,
  check: (value: T) => void,
  timeout = 60_000,
): Promise<void> => vi.waitFor(async () => check(await look()), { timeout, interval: 50 });

/** Waits until the last answer holds this. */
export const expectAnswer = (page: Page, text: string): Promise<void> =>
  checkEventually(
    () => answers(page).last().textContent(),
    (said) => expect(said).toContain(text),
  );

export const listNumbers = (last: number) => Array.from({ length: last }, (_, i) => i + 1).join(" ");

/** Waits for the second line of a row, in which a phone has facts: "Changed: now · …". */
export const expectFacts = (row: Locator, facts: RegExp): Promise<void> =>
  checkEventually(
    () => row.locator("td > div").last().textContent(),
    (text) => expect(text).toMatch(facts),
  );

/** What axe finds serious or worse, by these rules or by all. */
export async function findings(page: Page, ...rules: string[]): Promise<[id: string, nodes: string[]][]> {
  // No second tab for axe's report on frames: the page has none.
  const axe = new AxeBuilder({ page }).options({ resultTypes: ["violations"] }).setLegacyMode();
  const { violations } = await (rules.length > 0 ? axe.withRules(rules) : axe).analyze();
  const grave = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  return grave.map(({ id, nodes }) => [id, nodes.map((node) => node.html.slice(0, 200))]);
}

/** The same, with the colours of the dark theme as well: no other rule depends on the theme. */
export async function findingsInBothThemes(page: Page): Promise<[id: string, nodes: string[]][]> {
  const light = await findings(page);
  await page.emulateMedia({ colorScheme: "dark" });
  const dark = await findings(page, "color-contrast");
  await page.emulateMedia({ colorScheme: "light" });
  return [...light, ...dark];
}

/** Nothing is wider than the screen. */
export async function expectNoSidewaysScroll(page: Page): Promise<void> {
  expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0);
}
