/** The sign-in and consent pages in a real Chromium: its own reading of the policies, cookies and redirects. */
import { AxeBuilder } from "@axe-core/playwright";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { launch } from "../support/chromium.ts";
import type { TestServer } from "../support/server.ts";
import { sharedServer } from "../support/shared-server.ts";

const CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

let server: TestServer;
let browser: Browser;
/** The application that waits for its code on the loopback, and the addresses it was called at. */
let application: Server;
const arrivals: URL[] = [];

beforeAll(async () => {
  server = await sharedServer();
  browser = await launch();
  application = createServer((request, response) => {
    if (request.url?.startsWith("/cb")) arrivals.push(new URL(request.url, "http://127.0.0.1"));
    response.end("back");
  });
  await new Promise<void>((listening) => void application.listen(0, "127.0.0.1", listening));
});
afterAll(async () => {
  await browser?.close();
  application?.close();
  await server?.stop();
});

/** A page at the start of an authorization, with everything that it complains about. */
async function open(): Promise<{ page: Page; complaints: string[] }> {
  const { port } = application.address() as AddressInfo;
  const registered = await fetch(`${server.url}/oauth/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ client_name: "<b>Field notes</b>", redirect_uris: ["http://127.0.0.1/cb"] }),
  });
  const { client_id } = JSON.parse(await registered.text()) as { client_id: string };
  const page = await (await browser.newContext({ viewport: { width: 390, height: 844 } })).newPage();
  const complaints: string[] = [];
  page.on("console", (message) => void (message.type() === "error" && complaints.push(message.text())));
  page.on("pageerror", (error) => void complaints.push(error.message));
  const asked = new URLSearchParams({
    response_type: "code",
    client_id,
    redirect_uri: `http://127.0.0.1:${port}/cb`,
    code_challenge: CHALLENGE,
    code_challenge_method: "S256",
    scope: "read write admin",
    state: "from-chromium",
  });
  await page.goto(`${server.url}/oauth/authorize?${asked.toString()}`);
  return { page, complaints };
}

/** Serious faults that axe finds. */
async function barriers(page: Page): Promise<string[]> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  return violations.filter(({ impact }) => impact === "serious" || impact === "critical").map(({ id }) => id);
}

it("a person signs in, unticks a scope, allows, and arrives at the application", async () => {
  const { page, complaints } = await open();
  expect(await page.title()).toBe("Sign in - Weir");
  expect(await page.getByRole("heading").innerText()).toBe("Sign in to continue to <b>Field notes</b>");
  expect(await barriers(page)).toEqual([]);
  await page.getByLabel("API key of the workspace").fill("wrong");
  await page.keyboard.press("Enter");
  expect(await page.getByRole("alert").innerText()).toContain("not an API key");
  complaints.length = 0; // Chromium reports the 401 of the wrong key.

  await page.getByLabel("API key of the workspace").fill(server.key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Allow" }).waitFor();
  expect(await barriers(page)).toEqual([]);
  if (process.env.SCREENSHOTS) await page.screenshot({ path: `${process.env.SCREENSHOTS}/consent.png` });
  // The pages' style is let through by their own policy.
  expect(await page.evaluate("getComputedStyle(document.querySelector('main')).borderTopLeftRadius")).toBe("6px");
  await page.getByLabel("Manage API keys").uncheck();
  await page.getByRole("button", { name: "Allow" }).click();
  await page.getByText("back").waitFor();
  const arrival = arrivals.at(-1);
  expect(arrival?.searchParams.get("state")).toBe("from-chromium");
  expect(arrival?.searchParams.get("iss")).toBe(server.url);
  expect(arrival?.searchParams.get("code")).toMatch(/^weir_code_/);
  expect(complaints).toEqual([]);
  expect(await page.context().cookies()).toEqual([]);
  await page.context().close();
});

it("a person denies, and the application receives the error", async () => {
  const { page, complaints } = await open();
  await page.getByLabel("API key of the workspace").fill(server.key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: "Deny" }).click();
  await page.getByText("back").waitFor();
  expect(arrivals.at(-1)?.searchParams.get("error")).toBe("access_denied");
  expect(complaints).toEqual([]);
  await page.context().close();
});

it("no page can hold the consent page in a frame", async () => {
  const { page } = await open();
  const address = page.url();
  await page.goto(`${server.url}/ok`);
  await page.setContent(`<iframe src="${address.replaceAll("&", "&amp;")}"></iframe>`);
  const frame = page.frames()[1];
  await frame?.waitForLoadState();
  expect(await frame?.locator("form").count()).toBe(0);
  await page.context().close();
});
