/** The list of traces: what it shows beside it, its columns, its older pages, and links to it. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { sendTrace } from "../support/sdk-trace.ts";
import { sharedServer } from "../support/shared-server.ts";
import { browserHere, choose, eventually, expectAnswer, findings, log, onStage, say, settled, visit } from "./page.ts";

const list = (page: Page) => page.getByRole("table", { name: "Traces" });
/** The rows of the list, without its head. */
const listed = (page: Page) => list(page).locator("tbody tr[data-key]");
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

  it("has a link to each run of a turn that waited for a decision", async () => {
    const { page, close } = await visit(stage);
    await choose(page, "approval");
    await say(page, "Write to ada@example.com that the build is green");
    await page.getByRole("button", { name: "Approve send_email" }).click();
    await expectAnswer(page, "Sent to ada@example.com.");
    await settled(page);
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
    await listed(page).filter({ hasText: "first" }).getByText("What now?").click();
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
    expect(await listed(page).count()).toBe(3);
    expect(troubles).toEqual([]);
    await close();
  });

  it("shows the columns that are chosen, and no two in one place", async () => {
    await send("columns", "a_rather_long_name_of_a_graph_that_its_user_gave_it", "Error: no", true);
    const { page, close } = await visit(stage, { path: "/traces" });
    await page.getByLabel("Project").selectOption("columns");
    await listed(page).waitFor();
    const heads = () => list(page).getByRole("columnheader").allTextContents();
    expect(await heads()).toContain("Latency");
    await page.getByRole("button", { name: "Columns" }).click();
    await page.getByRole("menuitemcheckbox", { name: "Latency" }).click();
    await page.keyboard.press("Escape");
    await page.reload();
    await listed(page).waitFor();
    expect(await heads()).not.toContain("Latency");
    for (const width of [1280, 1000, 700]) {
      await page.setViewportSize({ width, height: 800 });
      // One look at all cells: a narrower page shows fewer columns, one frame later.
      await eventually(
        () =>
          listed(page)
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

  it("continues to older traces", async () => {
    for (let i = 0; i < 51; i++) await send("many", `trace_${i}`);
    const { page, close } = await visit(stage, { path: "/traces" });
    await page.getByLabel("Project").selectOption("many");
    await page.getByRole("button", { name: "Show more" }).click();
    await eventually(
      () => listed(page).count(),
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
    await page.getByRole("button", { name: /^Download all of it, 3,\d{3} KB/ }).waitFor();
    await close();
  });
});
