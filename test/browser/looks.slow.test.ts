import { describe, expect, it } from "vitest";
import { sharedServer } from "../support/shared-server.ts";
import { threadSaying } from "../support/workspace.ts";
import {
  expectAnswer,
  browserHere,
  choose,
  findComposer,
  expectNoSidewaysScroll,
  findings,
  onStage,
  log,
  PHONE,
  say,
  waitUntilSettled,
  visit,
} from "./page.ts";

const HOSTILE = `## A heading

<script>window.hacked = true</script><img src=x onerror="window.hacked = true">

The area is $\\pi r^2$, for $5.

| a | b |
|---|---:|
| long | 1 |

[bad](javascript:alert(1)) [good](https://example.com/page) ![chart](https://example.com/c.png)

\`\`\`ts
const answer: number = 42;
\`\`\`
`;

describe.runIf(browserHere)("the looks of the page", () => {
  const stage = onStage(() => sharedServer());

  it("renders text as Markdown and runs nothing in it", async () => {
    const path = `/chat/${await threadSaying(stage.server, HOSTILE)}`;
    const foreign: string[] = [];
    const { page, troubles, close } = await visit(stage, { path });
    page.on("request", (request) => {
      if (!request.url().startsWith(stage.server.url)) foreign.push(request.url());
    });
    await log(page).getByRole("heading", { name: "A heading" }).waitFor();
    await log(page).locator(".hljs-keyword").waitFor();
    await log(page).locator("math msup").waitFor();
    expect(await log(page).locator("script, img").count()).toBe(0);
    expect(await page.evaluate('"hacked" in window')).toBe(false);
    expect(await log(page).getByRole("link").count()).toBe(1);
    expect(await log(page).getByRole("link").getAttribute("href")).toBe("https://example.com/page");
    await log(page)
      .getByRole("button", { name: /Load image “chart” from example.com/ })
      .waitFor();
    expect(foreign).toEqual([]);
    expect(troubles).toEqual([]);
    await close();
  });

  it.each(["light", "dark"] as const)("has no serious finding of axe, %s", async (colorScheme) => {
    const path = `/chat/${await threadSaying(stage.server, HOSTILE)}`;
    const { page, troubles, close } = await visit(stage, { path, colorScheme });
    await log(page).locator(".hljs-keyword").waitFor();
    expect(await findings(page)).toEqual([]);
    await page.goto(`${stage.server.url}/chat`);
    await choose(page, "approval");
    expect(await findings(page)).toEqual([]);
    await say(page, "Write to ada@example.com that the build is green");
    const card = page.getByRole("region", { name: "Waiting for you" });
    await card.getByRole("button", { name: "Edit" }).waitFor();
    expect(await findings(page)).toEqual([]);
    await card.getByRole("button", { name: "Edit" }).click();
    expect(await findings(page)).toEqual([]);
    await page.getByRole("button", { name: "Keyboard shortcuts" }).click();
    expect(await findings(page)).toEqual([]);
    expect(troubles).toEqual([]);
    await close();
  });

  it("fits a phone", async () => {
    const path = `/chat/${await threadSaying(stage.server, HOSTILE)}`;
    const { page, close } = await visit(stage, { ...PHONE, path });
    await log(page).getByRole("heading", { name: "A heading" }).waitFor();
    await expectNoSidewaysScroll(page);
    expect(await findings(page)).toEqual([]);
    await page.getByRole("button", { name: "Show the threads" }).click();
    const sheet = page.getByRole("dialog", { name: "Threads" });
    await sheet
      .getByRole("link", { name: /Show me/ })
      .first()
      .waitFor();
    await expectNoSidewaysScroll(page);
    await sheet.getByRole("button", { name: "New thread" }).click();
    await sheet.waitFor({ state: "detached" });
    await choose(page, "approval");
    await say(page, "Write to ada@example.com that the build is green");
    const approve = page.getByRole("button", { name: "Approve send_email" });
    await approve.waitFor();
    await expectNoSidewaysScroll(page);
    expect((await approve.boundingBox())?.height).toBeGreaterThanOrEqual(44);
    await approve.tap();
    await expectAnswer(page, "Sent to ada@example.com.");
    await waitUntilSettled(page);
    const score = log(page).getByRole("group", { name: "Score" }).last();
    await score.waitFor();
    const boxes = await Promise.all((await score.getByRole("button").all()).map((button) => button.boundingBox()));
    expect(boxes.map((box) => box?.y)).toEqual(boxes.map(() => boxes[0]?.y));
    await close();
  });

  it("requires a key, refuses a wrong one, and accepts a right one", async () => {
    const { page, close } = await visit({ ...stage, server: { ...stage.server, key: "wrong" } });
    await page.getByRole("alert").getByText("The API key is not known").waitFor();
    expect(await findings(page)).toEqual([]);
    await page.getByLabel("API key").fill(stage.server.key);
    await page.getByRole("button", { name: "Use this key" }).click();
    await findComposer(page).waitFor();
    expect(await page.getByLabel("API key").count()).toBe(0);
    await close();
  });

  it("distinguishes a missing thread from an empty one, and shows a page at unknown paths", async () => {
    const { page, close } = await visit(stage, { path: `/chat/${crypto.randomUUID()}` });
    await page.getByText("No thread with this id in this workspace.").waitFor();
    await close();
    const unknown = await fetch(`${stage.server.url}/no/such/path`, {
      headers: { ...stage.server.headers, accept: "text/html", "sec-fetch-mode": "navigate" },
    });
    expect([unknown.status, unknown.headers.get("content-type")]).toEqual([404, "text/html; charset=UTF-8"]);
    const home = await fetch(`${stage.server.url}/`);
    expect(home.headers.get("cache-control")).toBe("no-cache");
    const script = /src="(\/assets\/[^"]+\.js)"/.exec(await home.text())?.[1];
    expect((await fetch(stage.server.url + script)).headers.get("cache-control")).toContain("immutable");
  });
});
