/** A site whose name resolves to this machine once its page is open, so that its requests reach `weir dev` from its own origin. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { quietPort } from "../support/ports.ts";
import { Front } from "../../src/cli/dev/front.ts";
import { launch } from "../support/chromium.ts";
import { browserHere } from "./page.ts";

const EVIL = "evil.example";

/** What a page of the site can try: its results are in the order of these. */
const ATTACK = `(async () => {
  const read = async (path, init) => { const answer = await fetch(path, init); return [answer.status, await answer.text()]; };
  const events = () => new Promise((resolve) => {
    const source = new EventSource("/.weir/events");
    source.onmessage = () => resolve("open");
    source.onerror = () => resolve("refused");
  });
  const socket = () => new Promise((resolve) => {
    const socket = new WebSocket("ws://" + location.host + "/threads/t/stream/events");
    socket.onopen = () => resolve("open");
    socket.onerror = () => resolve("refused");
  });
  return [
    await read("/api/v1/api-keys"),
    await read("/x", { headers: { "MF-Original-URL": "http://127.0.0.1/api/v1/api-keys" } }),
    await read("/runs", { method: "POST", headers: { "content-type": "application/json" }, body: "{}" }),
    await events(),
    await socket(),
  ];
})()`;

describe.runIf(browserHere)("a page whose name resolves to this machine", () => {
  let browser: Browser;
  const ends: (() => unknown)[] = [];
  const reached: string[] = [];
  let target: string;
  beforeAll(async () => {
    browser = await launch(`--host-resolver-rules=MAP ${EVIL} 127.0.0.1`);
    const server = createServer(({ url = "" }, answer) => {
      reached.push(url);
      answer.end("secret");
    });
    server.on("upgrade", ({ headers }, socket) => {
      reached.push(String(headers.upgrade));
      socket.destroy();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    ends.push(() => server.close());
    target = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    await browser.close();
    for (const end of ends) await end();
  });

  /** The site's page is open when a front takes its port, as when its name resolves to this machine. It tries everything. */
  async function attack(hosts: string[]): Promise<unknown> {
    const port = await quietPort();
    const site = createServer((_, answer) => answer.setHeader("content-type", "text/html").end("<!doctype html>"));
    await new Promise<void>((resolve) => site.listen(port, "127.0.0.1", resolve));
    const page = await browser.newPage();
    await page.goto(`http://${EVIL}:${port}/`);
    site.closeAllConnections();
    await new Promise((resolve) => site.close(resolve));
    const front = new Front({ port, hosts, target: async () => target, onRequest: () => undefined });
    await front.listen();
    ends.push(() => front.close());
    return page.evaluate(ATTACK);
  }

  it("reads and starts nothing", async () => {
    const refused = [421, expect.stringContaining("This host is not known.")];
    expect(await attack([])).toEqual([refused, refused, refused, "refused", "refused"]);
    expect(reached).toEqual([]);
  });

  it("reaches the server under a name that the user allows", async () => {
    const read = [200, "secret"];
    expect(await attack([EVIL])).toEqual([read, read, read, "open", "refused"]);
    expect(reached).toEqual(["/api/v1/api-keys", "/x", "/runs", "websocket"]);
  });
});
