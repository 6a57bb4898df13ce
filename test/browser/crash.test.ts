import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type KillableServer, startKillable } from "../support/server.ts";
import { answers, browserHere, choose, eventually, launch, numbersTo, say, settled, strip, visit } from "./page.ts";

describe.runIf(browserHere)("the page while the server dies", () => {
  let server: KillableServer;
  let browser: Browser;
  beforeAll(async () => {
    [server, browser] = await Promise.all([startKillable({ OFFLINE_MODEL_DELAY_MS: "20" }), launch()]);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  it("says so, and goes on when it is back, with the whole answer once", async () => {
    const { page, close } = await visit(browser, server);
    await choose(page, "agent");
    await say(page, "count to 200");
    await eventually(
      () => answers(page).last().textContent(),
      (text) => expect(text).toContain(" 40 "),
    );
    await server.kill();
    await strip(page).getByText("Connection lost").waitFor();
    expect(await answers(page).last().textContent()).toContain(" 40 ");
    await server.restart();
    await eventually(
      () => answers(page).last().textContent(),
      (text) => expect(text).toBe(numbersTo(200)),
      90_000,
    );
    await settled(page);
    await eventually(
      () => answers(page).allTextContents(),
      (all) => expect(all).toEqual([numbersTo(200)]),
    );
    await close();
  });
});
