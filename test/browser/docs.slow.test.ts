/** The documentation site and the API reference, as a browser shows them under their content policies. */
import { describe, expect, it } from "vitest";
import { sharedServer } from "../support/shared-server.ts";
import { browserHere, expectNoSidewaysScroll, findings, onStage, PHONE, visit } from "./page.ts";

describe.runIf(browserHere)("the documentation", () => {
  const stage = onStage(() => sharedServer());

  it("is found by search, shows highlighted code, and breaks no content policy", async () => {
    const { page, troubles, close } = await visit(stage, { path: "/docs", signedIn: false });
    await page.getByRole("heading", { level: 1 }).waitFor();
    expect(new URL(page.url()).pathname).toBe("/docs/");
    await page.getByRole("button", { name: "Search" }).click();
    await page.locator("#localsearch-input").fill("idempotency key");
    await page.locator(".VPLocalSearchBox .result").first().click();
    await page.locator(".vp-doc h1").waitFor();
    expect(new URL(page.url()).pathname).toMatch(/^\/docs\/[a-z-]+$/);
    await page.goto(`${stage.server.url}/docs/quick-start`);
    await page.locator("pre.code .hljs-keyword").first().waitFor();
    expect(await findings(page)).toEqual([]);
    expect(troubles).toEqual([]);
    await close();
  });

  it("fits a phone and follows the system's dark theme", async () => {
    const { page, troubles, close } = await visit(stage, { path: "/docs/api", ...PHONE, colorScheme: "dark" });
    await page.locator("html.dark").waitFor();
    await page.locator(".vp-doc h1").waitFor();
    await expectNoSidewaysScroll(page);
    expect(await findings(page)).toEqual([]);
    expect(troubles).toEqual([]);
    await close();
  });

  it("has a reference in which a reader makes a call, with nothing from another origin", async () => {
    const { page, troubles, close } = await visit(stage, {
      path: "/docs/reference#tag/system/GET/metrics",
      signedIn: false,
    });
    const elsewhere: string[] = [];
    page.on("request", (request) => {
      if (!request.url().startsWith(stage.server.url)) elsewhere.push(request.url());
    });
    await page.getByRole("heading", { name: "Weir", level: 1 }).waitFor();
    await page.getByRole("textbox", { name: "Value" }).fill(stage.server.key);
    await page.getByRole("button", { name: /Test Request \(get \/metrics\)/i }).click();
    const [answer] = await Promise.all([
      page.waitForResponse((response) => response.url().includes("/metrics")),
      page.getByRole("button", { name: /^Send/ }).first().click(),
    ]);
    expect(answer.status()).toBe(200);
    await page.keyboard.press("Escape");
    await page.getByRole("navigation", { name: "Weir" }).getByRole("link", { name: "Documentation" }).click();
    await page.waitForURL("**/docs/");
    expect(elsewhere).toEqual([]);
    expect(troubles).toEqual([]);
    await close();
  });

  it.each(["light", "dark"] as const)("has a reference with contrast and names, %s", async (colorScheme) => {
    const path = "/docs/reference#tag/system/GET/metrics";
    const { page, troubles, close } = await visit(stage, { path, signedIn: false, colorScheme });
    await page.getByRole("button", { name: /Test Request \(get \/metrics\)/i }).waitFor();
    await page.getByRole("textbox", { name: "Name", exact: true }).waitFor();
    expect(await page.locator(`.${colorScheme}-mode`).count()).toBeGreaterThan(0);
    expect(await findings(page)).toEqual([]);
    expect(troubles).toEqual([]);
    await close();
  });

  it("leads from any place of the reference back to the console", async () => {
    const { page, close } = await visit(stage, { path: "/docs/reference#tag/system/GET/metrics" });
    await page.getByRole("button", { name: /Test Request \(get \/metrics\)/i }).scrollIntoViewIfNeeded();
    const back = page.getByRole("navigation", { name: "Weir" }).getByRole("link", { name: "Console" });
    expect((await back.boundingBox())?.y).toBeGreaterThanOrEqual(0);
    await back.click();
    await page.waitForURL((url) => !url.pathname.startsWith("/docs"));
    await page.locator("#root > *").first().waitFor();
    await close();
  });
});
