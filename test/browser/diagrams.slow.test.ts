/** Mermaid diagrams in messages: drawn in a frame of their own, under the policy of the page. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { sharedServer } from "../support/shared-server.ts";
import { threadSaying } from "../support/workspace.ts";
import {
  browserHere,
  choose,
  checkEventually,
  expectNoSidewaysScroll,
  findings,
  log,
  onStage,
  PHONE,
  say,
  waitUntilSettled,
  visit,
} from "./page.ts";

const FLOW = "flowchart LR\n  ask[Ask] --> answer{Known?}\n  answer -->|yes| done[Answer]\n  answer -->|no| ask";
const fence = (source: string) => `Here it is:\n\n\`\`\`mermaid\n${source}\n\`\`\`\n\nThat is all.`;

const REGION = `document.querySelector('[role="region"][aria-label="Diagram"]')`;
const picture = (page: Page) => log(page).getByRole("region", { name: "Diagram" }).getByRole("img");
const source = (page: Page) => log(page).getByRole("region", { name: "Code, mermaid" });

/** The SVG of a drawn diagram, once the browser has decoded it. */
async function waitUntilDrawn(page: Page): Promise<string> {
  await picture(page).waitFor();
  await checkEventually(
    () => page.evaluate(`${REGION}.querySelector("img").naturalWidth`),
    (width) => expect(width).toBeGreaterThan(100),
  );
  return decodeURIComponent((await picture(page).getAttribute("src")) ?? "");
}

describe.runIf(browserHere)("diagrams in messages", () => {
  const stage = onStage(() => sharedServer());

  it.each([
    ["light", "rgb(24, 34, 37)"],
    ["dark", "rgb(228, 233, 233)"],
  ] as const)("are drawn in the colours of the page, %s, and give their source", async (colorScheme, ink) => {
    const path = `/chat/${await threadSaying(stage.server, fence(FLOW))}`;
    const { page, troubles, close } = await visit(stage, {
      path,
      colorScheme,
      permissions: ["clipboard-read", "clipboard-write"],
    });
    const svg = await waitUntilDrawn(page);
    expect(svg).toContain("Known?");
    expect(svg).toContain(ink);
    expect(svg).not.toContain("foreignObject");
    expect(await findings(page)).toEqual([]);
    await log(page).getByRole("button", { name: "Copy code" }).click();
    await log(page).getByRole("button", { name: "Copied" }).waitFor();
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(FLOW);
    await log(page).getByRole("button", { name: "Show source" }).click();
    expect(await source(page).textContent()).toBe(FLOW);
    await log(page).getByRole("button", { name: "Show diagram" }).click();
    await picture(page).waitFor();
    expect(troubles).toEqual([]);
    await close();
  });

  it("change their colours with the theme", async () => {
    const path = `/chat/${await threadSaying(stage.server, fence(FLOW))}`;
    const { page, close } = await visit(stage, { path, colorScheme: "light" });
    expect(await waitUntilDrawn(page)).toContain("rgb(24, 34, 37)");
    await page.emulateMedia({ colorScheme: "dark" });
    await checkEventually(
      () => waitUntilDrawn(page),
      (svg) => expect(svg).toContain("rgb(228, 233, 233)"),
    );
    await close();
  });

  it("load nothing before a message holds one, and then from the page's own origin", async () => {
    const path = `/chat/${await threadSaying(stage.server, "```ts\nconst answer = 42;\n```")}`;
    const { page, close } = await visit(stage, { path });
    const loaded: string[] = [];
    page.on("request", (request) => loaded.push(request.url()));
    await log(page).locator(".hljs-keyword").waitFor();
    expect(await page.locator("iframe").count()).toBe(0);
    await page.goto(`${stage.server.url}/chat/${await threadSaying(stage.server, fence(FLOW))}`);
    await waitUntilDrawn(page);
    expect(loaded).toContain(`${stage.server.url}/diagram`);
    expect(loaded.filter((url) => !url.startsWith(stage.server.url) && !url.startsWith("data:"))).toEqual([]);
    await close();
  });

  it("run nothing, and reach neither the page nor another host", async () => {
    const reached: string[] = [];
    const other = createServer((request, response) => {
      reached.push(request.url ?? "");
      response.end();
    });
    await new Promise<void>((listening) => void other.listen(0, "127.0.0.1", listening));
    const address = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const hostile = [
      '%%{init: {"securityLevel": "loose", "htmlLabels": true, "flowchart": {"htmlLabels": true}}}%%',
      "flowchart LR",
      `  a["<img src=${address}/image onerror=alert(1)>"] --> b["<script src=${address}/script></script>b"]`,
      '  click a "javascript:alert(1)"',
    ].join("\n");
    const path = `/chat/${await threadSaying(stage.server, fence(hostile))}`;
    const { page, close } = await visit(stage, { path });
    page.on("dialog", (dialog) => reached.push(dialog.message()));
    expect(await waitUntilDrawn(page)).not.toMatch(/<script|onerror|javascript:/);
    expect(reached).toEqual([]);
    const frame = page.frames().find((one) => one.url().endsWith("/diagram"));
    expect(await frame?.evaluate("origin")).toBe("null");
    const alone = await fetch(`${stage.server.url}/diagram`);
    expect(alone.headers.get("content-security-policy")).toMatch(/^sandbox allow-scripts; default-src 'none';/);
    other.close();
    await close();
  });

  it("show their source and the place of a fault, and the next one is drawn", async () => {
    const path = `/chat/${await threadSaying(stage.server, `${fence("flowchart LR\n  a --> [b")}\n\n${fence(FLOW)}`)}`;
    const { page, troubles, close } = await visit(stage, { path });
    await log(page).getByText("Not drawn. Syntax error in line 2: a --> [b").waitFor();
    expect(await waitUntilDrawn(page)).toContain("Known?");
    expect(await source(page).textContent()).toBe("flowchart LR\n  a --> [b");
    expect(await findings(page)).toEqual([]);
    expect(troubles).toEqual([]);
    await close();
  });

  it("scroll in their frame on a phone", async () => {
    const wide = `flowchart LR\n${Array.from({ length: 12 }, (_, i) => `  step${i}[Step ${i}] --> step${i + 1}`).join("\n")}`;
    const path = `/chat/${await threadSaying(stage.server, fence(wide))}`;
    const { page, close } = await visit(stage, { ...PHONE, path });
    await waitUntilDrawn(page);
    await expectNoSidewaysScroll(page);
    expect(await page.evaluate(`${REGION}.scrollTo(40, 0), ${REGION}.scrollLeft`)).toBe(40);
    await close();
  });
});

describe.runIf(browserHere)("a diagram while it is written", () => {
  const stage = onStage(() => sharedServer("delayed"));

  it("is source, and is drawn when the block has ended", async () => {
    const { page, close } = await visit(stage);
    // What the log says when the frame is opened.
    await page.evaluate(`new MutationObserver(() => {
      if (document.querySelector("iframe")) window.said ??= document.querySelector('[role="log"]').textContent;
    }).observe(document.body, { childList: true })`);
    await choose(page, "agent");
    // The model repeats the message. The fence stays open until the end of its answer, which is then no diagram.
    await say(page, "Draw\n\n```mermaid\nflowchart LR\n  a --> b\n");
    await source(page).waitFor();
    await waitUntilSettled(page);
    await log(page).getByText("Not drawn.").waitFor();
    expect(await page.evaluate("window.said")).toContain("to use a real one.)");
    await close();
  });
});
