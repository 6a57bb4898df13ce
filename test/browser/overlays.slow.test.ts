/** Menus and dialogs, whose code is loaded when they are opened. */
import { describe, expect, it } from "vitest";
import { sharedServer } from "../support/shared-server.ts";
import { browserHere, checkEventually, waitForFocus, onStage, say, waitUntilSettled, visit } from "./page.ts";

describe.runIf(browserHere)("menus and dialogs that load when they are opened", () => {
  const stage = onStage(() => sharedServer("graphs"));

  /** A thread in the list, whose menu no one has opened. */
  const beginThread = async () => {
    const opened = await visit(stage);
    const { page } = opened;
    page.context().setDefaultTimeout(20_000);
    const words = `Hello ${crypto.randomUUID()}`;
    await say(page, words);
    await waitUntilSettled(page);
    return { ...opened, button: page.getByRole("button", { name: `More about ${words}` }) };
  };

  it.each(["Enter", "Space", "ArrowDown"])(
    "opens a menu by %s at its first item, and gives the focus back",
    async (key) => {
      const { page, button, troubles, close } = await beginThread();
      // The first press loads the menu; the second finds it.
      for (let press = 0; press < 2; press++) {
        await button.focus();
        expect(await button.getAttribute("aria-haspopup")).toBe("menu");
        expect(await button.getAttribute("aria-expanded")).toBe("false");
        await page.keyboard.press(key);
        await waitForFocus(page, page.getByRole("menuitem", { name: "Rename" }));
        await page.keyboard.press("Escape");
        await waitForFocus(page, button);
      }
      expect(troubles).toEqual([]);
      await close();
    },
  );

  it("opens a menu by the pointer without a chosen item", async () => {
    const { page, button, close } = await beginThread();
    await button.click();
    await waitForFocus(page, page.getByRole("menu"));
    expect(await page.locator('[role="menuitem"]:focus').count()).toBe(0);
    await close();
  });

  it("keeps the page when a dialog does not load, and opens it when there is a connection", async () => {
    const { page, troubles, close } = await visit(stage, { path: "/console/usage" });
    const heading = page.getByRole("heading", { level: 1, name: "Usage" });
    await heading.waitFor();
    await page.context().setOffline(true);
    const failed = page.waitForEvent("requestfailed", (request) => request.url().includes("KeySheet"));
    await page.keyboard.press("Shift+?");
    await failed;
    await heading.waitFor();
    expect(troubles).toEqual([]);
    await page.context().setOffline(false);
    // Chromium does not ask for a module again that has failed: the page is loaded again.
    await checkEventually(
      async () => {
        await page.keyboard.press("Shift+?");
        return page.getByRole("dialog").count();
      },
      (count) => expect(count).toBe(1),
      30_000,
    );
    await close();
  });

  it("keeps the view when its dialog does not load", async () => {
    const { page, troubles, close } = await visit(stage, { path: "/console/threads" });
    const range = page.getByRole("combobox", { name: "Time range" });
    await range.waitFor();
    await page.context().setOffline(true);
    const failed = page.waitForEvent("requestfailed", (request) => request.url().includes("TimesDialog"));
    await range.selectOption("Choose times…");
    await failed;
    expect(await range.isVisible()).toBe(true);
    expect(await page.getByText("This page cannot be shown.").count()).toBe(0);
    expect(troubles).toEqual([]);
    await close();
  });
});
