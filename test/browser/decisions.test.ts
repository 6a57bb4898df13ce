import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startServer, type TestServer } from "../support/server.ts";
import {
  answers,
  browserHere,
  choose,
  composer,
  eventually,
  focused,
  launch,
  log,
  say,
  settled,
  strip,
  visit,
} from "./page.ts";

describe.runIf(browserHere)("decisions and subagents in the browser", () => {
  let server: TestServer;
  let browser: Browser;
  beforeAll(async () => {
    [server, browser] = await Promise.all([startServer({ OFFLINE_MODEL_DELAY_MS: "5" }), launch()]);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  it("approves what waits, also after a reload, and it does not come back", async () => {
    const { page, close } = await visit(browser, server);
    await choose(page, "approval");
    await say(page, "Write to ada@example.com that the build is green");
    const card = page.getByRole("region", { name: "Waiting for you" });
    await card.getByText("ada@example.com", { exact: true }).waitFor();
    await strip(page).getByText("1 decision").waitFor();
    expect(await page.title()).toBe("(1) Weir");
    expect(await composer(page).isDisabled()).toBe(true);

    await page.reload();
    await card.getByRole("button", { name: "Approve send_email" }).click();
    await eventually(
      () => answers(page).last().textContent(),
      (text) => expect(text).toContain("Sent to ada@example.com."),
    );
    await settled(page);
    expect(await card.count()).toBe(0);
    expect(await composer(page).isDisabled()).toBe(false);
    await log(page).getByText("You approved send_email").waitFor();

    await page.reload();
    await answers(page).last().getByText("Sent to ada@example.com.").waitFor();
    await settled(page);
    expect(await card.count()).toBe(0);
    await close();
  });

  it("edits the arguments before it approves, and keeps the rest", async () => {
    const { page, close } = await visit(browser, server);
    await choose(page, "approval");
    await say(page, "Write to ada@example.com that the build is green");
    const card = page.getByRole("region", { name: "Waiting for you" });
    await card.getByRole("button", { name: "Edit" }).click();
    await card.getByRole("textbox", { name: /^to/ }).fill("bob@example.com");
    await card.getByRole("button", { name: "Approve edited" }).click();
    await eventually(
      () => answers(page).last().textContent(),
      (text) => expect(text).toContain("Sent to bob@example.com."),
    );
    await close();
  });

  it("rejects with a reason", async () => {
    const { page, close } = await visit(browser, server);
    await choose(page, "approval");
    await say(page, "Write to ada@example.com that the build is green");
    const card = page.getByRole("region", { name: "Waiting for you" });
    await card.getByRole("button", { name: "Reject…" }).click();
    await card.getByRole("textbox", { name: /Why not/ }).fill("too early");
    await card.getByRole("button", { name: "Reject send_email" }).click();
    await eventually(
      () => answers(page).last().textContent(),
      (text) => expect(text).toContain("too early"),
    );
    await close();
  });

  it("shows subagents as cards, each with a stream of its own", async () => {
    const { page, close } = await visit(browser, server);
    await choose(page, "research");
    await say(page, "How do weirs measure a river?");
    const card = log(page).getByRole("button", { name: /^researcher/ });
    await card.click();
    const panel = page.getByRole("complementary", { name: "Subagent researcher" });
    await panel.getByRole("button", { name: /^current_time/ }).waitFor();
    await eventually(
      () => answers(page).last().textContent(),
      (text) => expect(text).toContain("The critic reports"),
    );
    await settled(page);
    await page.keyboard.press("Escape");
    expect(await panel.count()).toBe(0);
    await focused(page, card);
    await page.reload();
    await card.click();
    await panel.getByText("Collect the facts").waitFor();
    await close();
  });
});
