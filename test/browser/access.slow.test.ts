/** Who and what may call the workspace, and what it calls: keys, applications, signing secrets. */
import { describe, expect, it } from "vitest";
import { sharedServer } from "../support/shared-server.ts";
import { callAs, letIn } from "../support/workspace.ts";
import {
  browserHere,
  checkEventually,
  expectNoSidewaysScroll,
  findings,
  findingsInBothThemes,
  waitForFocus,
  onStage,
  PHONE,
  visit,
} from "./page.ts";

describe.runIf(browserHere)("access in the browser", () => {
  const stage = onStage(() => sharedServer());

  /** What the server answers to a call with this credential. */
  const status = async (headers: Record<string, string>) => {
    const init = { method: "POST", headers: { "content-type": "application/json", ...headers }, body: "{}" };
    return (await fetch(`${stage.server.url}/assistants/search`, init)).status;
  };

  it("creates, replaces and revokes a key", async () => {
    const { page, troubles, close } = await visit(stage, { path: "/console/keys" });
    const keys = page.getByRole("table", { name: "API keys" });
    await keys.getByRole("row", { name: /this tab/ }).waitFor();
    expect(await findingsInBothThemes(page)).toEqual([]);
    await page.getByRole("button", { name: "New key" }).click();
    const dialog = page.getByRole("dialog", { name: "New API key" });
    await waitForFocus(page, dialog.getByLabel("Name"));
    await page.keyboard.press("Enter");
    await dialog.getByText("Give the key a name.").waitFor();
    await dialog.getByLabel("Name").fill("report one");
    await dialog.getByRole("checkbox", { name: /^write/ }).uncheck();
    await dialog.getByLabel("Networks").fill("not a network");
    expect(await findingsInBothThemes(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Create key" }).click();
    await dialog.getByRole("alert").getByText("must be an address or a network").waitFor();
    await dialog.getByLabel("Networks").fill("");
    await dialog.getByRole("button", { name: "Create key" }).click();

    // The secret is there once. Only the button closes it.
    const shown = page.getByRole("dialog", { name: "Key “report one”" });
    const first = (await shown.locator("pre").textContent()) ?? "";
    expect(first).toMatch(/^weir_key_/);
    expect(await status({ "x-api-key": first })).toBe(200);
    expect(await findingsInBothThemes(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.mouse.click(5, 5);
    expect(await shown.isVisible()).toBe(true);
    await shown.getByRole("button", { name: "I have stored it" }).click();
    await shown.waitFor({ state: "detached" });
    await page.reload();
    const row = keys.getByRole("row", { name: /report one in 89 days read/ });
    await row.waitFor();
    expect(await page.content()).not.toContain(first);

    await row.click();
    const details = page.getByRole("dialog", { name: "report one" });
    expect(page.url()).toMatch(/\/console\/keys\/[0-9a-f-]{36}$/);
    expect(await findingsInBothThemes(page)).toEqual([]);
    await details.getByRole("button", { name: "Replace key…" }).click();
    const replace = page.getByRole("dialog", { name: "Replace “report one”" });
    await replace.getByLabel("Old key").selectOption({ label: "Ends at once" });
    await replace.getByRole("button", { name: "Create new key" }).click();
    const second = (await shown.locator("pre").textContent()) ?? "";
    expect([await status({ "x-api-key": first }), await status({ "x-api-key": second })]).toEqual([401, 200]);
    await shown.getByRole("button", { name: "I have stored it" }).click();

    await keys.getByRole("row", { name: /report one in/ }).click();
    await details.getByRole("button", { name: "Revoke key…" }).click();
    const asked = page.getByRole("alertdialog", { name: "Revoke “report one”?" });
    expect(await findingsInBothThemes(page)).toEqual([]);
    await asked.getByRole("button", { name: "Go back" }).click();
    expect(await status({ "x-api-key": second })).toBe(200);
    await keys.getByRole("row", { name: /report one in/ }).click();
    await details.getByRole("button", { name: "Revoke key…" }).click();
    await asked.getByRole("button", { name: "Revoke key" }).click();
    // A dialog hides the rows from roles while it is open.
    await asked.waitFor({ state: "detached" });
    await keys.getByRole("row", { name: /report one in/ }).waitFor({ state: "detached" });
    expect(await status({ "x-api-key": second })).toBe(401);
    expect(troubles).toEqual([]);
    await close();
  });

  it("says why a key cannot see the keys, and that an id is not there", async () => {
    const { key } = await callAs<{ key: string }>(stage.server, "POST", "/api/v1/api-keys", { scopes: ["read"] });
    const reader = await visit({ ...stage, server: { ...stage.server, key } }, { path: "/console/keys" });
    await reader.page.getByText("Needs the permission keys.manage.").waitFor();
    expect(await reader.page.getByRole("button", { name: "New key" }).count()).toBe(0);
    await reader.close();
    const { page, close } = await visit(stage, { path: "/console/keys/nothing" });
    await page.getByRole("dialog", { name: "No key with this id" }).getByRole("button", { name: "Close" }).click();
    await page.waitForURL("**/console/keys");
    expect(await page.getByRole("dialog").count()).toBe(0);
    await close();
  });

  it("shows what applications may do, and takes it back", async () => {
    const { page, troubles, close } = await visit(stage, { path: "/console/oauth" });
    await page.getByText("No application has access.").waitFor();
    await page.getByText(`${stage.server.url}/mcp`).first().waitFor();
    expect(await findingsInBothThemes(page)).toEqual([]);
    const [notes, desk] = [await letIn(stage.server, "Field notes", "read"), await letIn(stage.server, "Desk")];
    await page.reload();
    const table = page.getByRole("table", { name: "Applications" });
    await table.getByRole("row", { name: /Field notes read this device, notes.example 1/ }).waitFor();
    expect(await findingsInBothThemes(page)).toEqual([]);
    await table.getByRole("row", { name: /Field notes/ }).click();
    const details = page.getByRole("dialog", { name: "Field notes" });
    await details.getByText("https://notes.example/oauth/callback").waitFor();
    await details.getByText("allowed with the key “local”").waitFor();
    expect(await findingsInBothThemes(page)).toEqual([]);
    await page.reload();
    await details.getByRole("button", { name: "Revoke…", exact: true }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Revoke grant" }).click();
    await table.getByRole("row", { name: /Field notes/ }).waitFor({ state: "detached" });
    const bearer = ({ token }: { token: string }) => status({ authorization: `Bearer ${token}` });
    // The row is out of sight from the moment that the dialog opens.
    await checkEventually(
      () => bearer(notes),
      (answer) => expect(answer).toBe(401),
    );
    expect(await bearer(desk)).toBe(200);
    await table.getByRole("row", { name: /Desk/ }).click();
    await page.getByRole("dialog", { name: "Desk" }).getByRole("button", { name: "Remove access…" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Remove access" }).click();
    await page.getByText("No application has access.").waitFor();
    expect(await bearer(desk)).toBe(401);
    expect(troubles).toEqual([]);
    await close();
  });

  it("makes, rotates and deletes signing secrets", async () => {
    const { page, troubles, close } = await visit(stage, { path: "/console/webhooks" });
    await page.getByText("Webhooks are not signed.").waitFor();
    expect(await findingsInBothThemes(page)).toEqual([]);
    await page.getByRole("button", { name: "Create secret" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Create secret" }).click();
    const shown = page.getByRole("dialog", { name: "Signing secret" });
    const secret = (await shown.locator("pre").textContent()) ?? "";
    expect(secret).toMatch(/^weir_whsec_/);
    expect(await findingsInBothThemes(page)).toEqual([]);
    await shown.getByRole("button", { name: "I have stored it" }).click();
    const table = page.getByRole("table", { name: "Signing secrets" });
    await table.getByRole("row", { name: /next rotation/ }).waitFor();
    expect(await page.content()).not.toContain(secret);

    await page.getByRole("button", { name: "Rotate secret" }).click();
    await page.getByLabel("Earlier secrets").selectOption({ label: "Sign for another hour" });
    await page.getByRole("dialog").getByRole("button", { name: "Create secret" }).click();
    await shown.getByRole("button", { name: "I have stored it" }).click();
    await table.locator("tbody tr").nth(1).waitFor();
    expect(await findingsInBothThemes(page)).toEqual([]);
    for (let left = 2; left > 0; left--) {
      await table
        .getByRole("button", { name: /^Delete/ })
        .first()
        .click();
      await page.getByRole("alertdialog").getByRole("button", { name: "Delete secret" }).click();
      await page.getByRole("alertdialog").waitFor({ state: "detached" });
    }
    await page.getByText("Webhooks are not signed.").waitFor();
    expect(troubles).toEqual([]);
    await close();
  });

  it("lists where crons send their webhooks", async () => {
    await callAs(stage.server, "POST", "/runs/crons", {
      assistant_id: "agent",
      schedule: "0 6 * * 1",
      input: { messages: [] },
      webhook: "https://hooks.example.com/weekly",
    });
    await callAs(stage.server, "POST", "/runs/crons", { assistant_id: "agent", schedule: "0 7 * * 1", input: {} });
    const { page, close } = await visit(stage, { path: "/console/webhooks" });
    const crons = page.getByRole("table", { name: "Crons with a webhook" });
    await crons.getByRole("row", { name: /hooks.example.com\/weekly 0 6 \* \* 1 agent/ }).waitFor();
    expect(await crons.locator("tbody tr").count()).toBe(1);
    await close();
  });

  it.each(["keys", "oauth", "webhooks"])("fits a phone: %s", async (name) => {
    await letIn(stage.server, "An application with a long name of several words");
    await callAs(stage.server, "POST", "/api/v1/webhook-secrets", {});
    const { page, close } = await visit(stage, { ...PHONE, path: `/console/${name}` });
    await page.getByRole("table").first().waitFor();
    await expectNoSidewaysScroll(page);
    expect(await findings(page)).toEqual([]);
    if (name === "webhooks") return close();
    await page.locator("tbody tr").first().tap();
    await page.getByRole("dialog").waitFor();
    await expectNoSidewaysScroll(page);
    expect(await findings(page)).toEqual([]);
    await close();
  });
});
