/** People sign in to the console by an OpenID provider, and see what their role allows, in a real Chromium. */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launch } from "../support/chromium.ts";
import { type OpenIdProvider, startOpenIdProvider } from "../support/openid-provider.ts";
import { SECRETS, startServer } from "../support/server.ts";
import { browserHere, findComposer, checkEventually, findingsInBothThemes, type Stage, visit } from "./page.ts";

describe.runIf(browserHere)("members in the browser", () => {
  const stage = {} as Stage<Awaited<ReturnType<typeof startServer>>>;
  let provider: OpenIdProvider;
  beforeAll(async () => {
    provider = await startOpenIdProvider();
    const { issuer, client } = provider;
    const vars = { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: client.id, OIDC_CLIENT_SECRET: client.secret };
    [stage.server, stage.browser] = await Promise.all([startServer(vars), launch()]);
  }, 120_000);
  afterAll(async () => {
    await stage.browser?.close();
    await stage.server?.stop();
    await provider?.stop();
  });

  /** A link of the first admin, made with the deployment's admin key. */
  async function firstLink(): Promise<string> {
    const { url, workspaceId } = stage.server;
    const headers = {
      "x-api-key": SECRETS.WEIR_ADMIN_KEY,
      "x-tenant-id": workspaceId,
      "content-type": "application/json",
    };
    const made = await fetch(`${url}/api/v1/invitations`, { method: "POST", headers, body: '{"role": "admin"}' });
    return /"url":"([^"]+)"/.exec(await made.text())?.[1] ?? "";
  }

  async function join(page: Page, link: string, sub: string): Promise<void> {
    provider.next = { sub, email: `${sub}@example.com` };
    await page.goto(link);
    await page.getByRole("button", { name: /^Sign in with 127\.0\.0\.1/ }).click();
    await page.getByRole("button", { name: `Sign out ${sub}@example.com` }).waitFor();
  }

  it("the first admin joins by a link and invites a viewer, who sees no more than viewers may", async () => {
    const admin = await visit(stage, { path: "/", signedIn: false });
    await join(admin.page, await firstLink(), "ann");
    expect(await admin.page.evaluate<string>("document.cookie")).toBe("");
    expect(await admin.page.evaluate<string | null>('sessionStorage.getItem("weir.session")')).toBeNull();

    const { page } = admin;
    await page.getByRole("link", { name: "Members" }).click();
    await page.getByRole("row", { name: /ann@example\.com admin/ }).waitFor();
    expect(await findingsInBothThemes(page)).toEqual([]);
    await page.getByRole("button", { name: "Invite" }).click();
    const dialog = page.getByRole("dialog", { name: "Invite a person" });
    await dialog.getByLabel("E-mail").fill("bob@example.com");
    expect(await findingsInBothThemes(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Create link" }).click();
    const shown = page.getByRole("dialog", { name: "Invitation" });
    const link = (await shown.locator("pre").textContent()) ?? "";
    await shown.getByRole("button", { name: "I have stored it" }).click();

    const viewer = await visit(stage, { path: "/", signedIn: false });
    await join(viewer.page, link, "bob");
    const pages = viewer.page.getByRole("navigation", { name: "Pages" });
    await pages.getByRole("link", { name: "Traces" }).waitFor();
    for (const name of ["Keys", "Members", "OAuth", "Webhooks", "Audit log", "Exports"])
      expect([name, await pages.getByRole("link", { name }).count()]).toEqual([name, 0]);
    await viewer.page.goto(`${stage.server.url}/chat`);
    await checkEventually(
      () => findComposer(viewer.page).getAttribute("placeholder"),
      (text) => expect(text).toContain("Your role starts no runs"),
    );
    await viewer.page.goto(`${stage.server.url}/console/crons`);
    await viewer.page.getByRole("heading", { level: 1, name: "Crons" }).waitFor();
    await viewer.page.getByRole("link", { name: "New cron" }).waitFor({ state: "detached" });

    // A new role is there with the next look; the end of the membership with the next request.
    const rows = page.getByRole("table", { name: "Members" });
    await page.reload();
    await rows.getByRole("row", { name: /bob@example\.com viewer/ }).click();
    const details = page.getByRole("dialog", { name: "bob@example.com" });
    await details.getByRole("button", { name: "Sign out" }).waitFor();
    expect(await findingsInBothThemes(page)).toEqual([]);
    await details.getByLabel("Role").selectOption("developer");
    await details.getByRole("button", { name: "Save role" }).click();
    await rows.getByRole("row", { name: /bob@example\.com developer/ }).waitFor();
    await viewer.page.reload();
    await viewer.page.getByRole("link", { name: "New cron" }).waitFor();
    await rows.getByRole("row", { name: /bob@example\.com developer/ }).click();
    await details.getByRole("button", { name: "Remove member…" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Remove member" }).click();
    await rows.getByRole("row", { name: /bob@example\.com/ }).waitFor({ state: "detached" });
    await viewer.page.reload();
    await viewer.page.getByRole("button", { name: /^Sign in with/ }).waitFor();
    expect([...admin.troubles, ...viewer.troubles]).toEqual([]);
    await viewer.close();
    await admin.close();
  });

  it("a member signs out and in again, and is where the sign-in began", async () => {
    const { page, troubles, close } = await visit(stage, { path: "/", signedIn: false });
    await join(page, await firstLink(), "cleo");
    await page.getByRole("button", { name: "Sign out cleo@example.com" }).click();
    await page.getByRole("button", { name: /^Sign in with/ }).waitFor();
    await page.goto(`${stage.server.url}/console/keys?x=1`);
    provider.next = { sub: "cleo", email: "cleo@example.com" };
    await page.getByRole("button", { name: /^Sign in with/ }).click();
    await page.getByRole("button", { name: "Sign out cleo@example.com" }).waitFor();
    expect(page.url()).toBe(`${stage.server.url}/console/keys?x=1`);

    await page.getByRole("button", { name: "New key" }).click();
    const dialog = page.getByRole("dialog", { name: "New API key" });
    await dialog.getByLabel("Name").fill("collector");
    await dialog.getByLabel("Role").selectOption("annotator");
    expect(await dialog.getByRole("checkbox").count()).toBe(0);
    await dialog.getByRole("button", { name: "Create key" }).click();
    await page.getByRole("button", { name: "I have stored it" }).click();
    await page.getByRole("row", { name: /collector/ }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Change role…" }).click();
    await page.getByRole("dialog").getByLabel("Role").selectOption("viewer");
    await page.getByRole("button", { name: "Save role" }).click();
    await page.getByRole("dialog").getByText("viewer").waitFor();
    expect(troubles).toEqual([]);
    await close();
  });
});
