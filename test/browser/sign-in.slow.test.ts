/** The page signs in and out as a public client of its own server, in a real Chromium. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { launch } from "../support/chromium.ts";
import type { TestServer } from "../support/server.ts";
import { sharedServer } from "../support/shared-server.ts";

let server: TestServer;
let browser: Browser;
beforeAll(async () => {
  server = await sharedServer();
  browser = await launch();
});
afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

const findServerButton = (page: Page) => page.getByRole("button", { name: "Sign in at the server" });

/** From the page's own sign-in over the server's two pages, and back. */
async function signIn(page: Page): Promise<void> {
  await findServerButton(page).click();
  await page.getByLabel("API key of the workspace").fill(server.key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: "Allow" }).click();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
}

const readStored = (page: Page, kind: "local" | "session", key: string) =>
  page.evaluate<string | null>(`${kind}Storage.getItem(${JSON.stringify(key)})`);

it("registers once, signs in, and what it signs out of is over", async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(server.url);
  await signIn(page);
  const client = await readStored(page, "local", "weir.client");
  const session = JSON.parse((await readStored(page, "session", "weir.session")) ?? "{}") as Record<string, string>;
  expect(session.workspaceId).toBe(server.workspaceId);
  const call = async () =>
    (
      await fetch(`${server.url}/threads/search`, {
        method: "POST",
        headers: { authorization: `Bearer ${session.secret}`, "content-type": "application/json" },
        body: "{}",
      })
    ).status;
  expect(await call()).toBe(200);

  // What was written and not sent is not sent by who signs in next.
  const unsent = ["weir.queue.new", "weir.draft.new"];
  for (const key of unsent) await page.evaluate(`sessionStorage.setItem(${JSON.stringify(key)}, "[]")`);
  const revoked = page.waitForResponse((response) => response.url().endsWith("/oauth/revoke"));
  await page.getByRole("button", { name: "Sign out" }).click();
  expect((await revoked).status()).toBe(200);
  await findServerButton(page).waitFor();
  expect(await readStored(page, "session", "weir.session")).toBeNull();
  expect(await call()).toBe(401);
  for (const key of unsent) expect(await readStored(page, "session", key)).toBeNull();

  // Signing in again requires the key again, with the stored client.
  await signIn(page);
  expect(await readStored(page, "local", "weir.client")).toBe(client);
  await context.close();
});

it("registers again when the server has deleted its client", async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(server.url);
  await page.evaluate(`localStorage.setItem("weir.client", "weir_client_forgotten")`);
  await findServerButton(page).click();
  await page.getByText("The application is not registered here").waitFor();
  await page.goto(server.url);
  await signIn(page);
  expect(await readStored(page, "local", "weir.client")).not.toBe("weir_client_forgotten");
  await context.close();
});

it("returns to the address where it began, with its query", async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  const address = `${server.url}/traces?failed=1`;
  await page.goto(address);
  await signIn(page);
  expect(page.url()).toBe(address);
  await context.close();
});
