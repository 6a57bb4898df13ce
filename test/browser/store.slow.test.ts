import { describe, expect, it } from "vitest";
import { sharedServer } from "../support/shared-server.ts";
import {
  browserHere,
  expectNoSidewaysScroll,
  findings,
  findingsInBothThemes,
  waitForFocus,
  onStage,
  PHONE,
  visit,
} from "./page.ts";

describe.runIf(browserHere)("the Store in the browser", () => {
  const stage = onStage(() => sharedServer());

  async function put(namespace: string[], key: string, value: object): Promise<void> {
    const headers = { ...stage.server.headers, "content-type": "application/json" };
    const body = JSON.stringify({ namespace, key, value });
    const answer = await fetch(`${stage.server.url}/store/items`, { method: "PUT", headers, body });
    expect(answer.status).toBe(204);
  }

  async function item(namespace: string[], key: string): Promise<{ value: unknown } | null> {
    const params = new URLSearchParams({ namespace: JSON.stringify(namespace), key });
    const answer = await fetch(`${stage.server.url}/store/items?${params.toString()}`, {
      headers: stage.server.headers,
    });
    return answer.json();
  }

  async function seed(): Promise<void> {
    await put(["users", "ada"], "profile", { name: "Ada", city: "Turin" });
    await put(["users", "ada", "projects"], "engine", { text: "Writes about the engine." });
    await put(["users", "grace"], "profile", { name: "Grace" });
    await put(["knowledge"], "limit", { text: "Refunds need a person." });
  }

  it("teaches where it is empty, and writes an item", async () => {
    const { page, troubles, close } = await visit(stage, { path: "/console/store" });
    await page.getByText("The store is empty.").waitFor();
    await page.getByText(`curl ${stage.server.url}/store/items`).waitFor();
    expect(await findings(page)).toEqual([]);
    await page.getByRole("link", { name: "New item" }).click();
    const write = page.getByRole("button", { name: "Write item" });
    await page.getByLabel("Key", { exact: true }).fill("home");
    await write.click();
    await page.getByRole("alert").getByText("Write a namespace").waitFor();
    await page.getByLabel("Namespace", { exact: true }).fill("places / ada");
    await page.getByLabel("Value").fill("{");
    await write.click();
    await page.getByRole("alert").getByText("The value is no JSON").waitFor();
    expect(await findings(page)).toEqual([]);
    await page.getByLabel("Value").fill('{"city": "Turin"}');
    await write.click();
    await page.getByRole("region", { name: "Value" }).getByText("Turin").waitFor();
    expect(await item(["places", "ada"], "home")).toMatchObject({ value: { city: "Turin" } });
    expect(troubles).toEqual([]);
    await close();
  });

  it("goes from a namespace to its items and one of them", async () => {
    await seed();
    const { page, troubles, close } = await visit(stage, { path: "/console/store" });
    const tree = page.getByRole("navigation", { name: "Namespaces" });
    await tree.getByRole("button", { name: "Open users" }).click();
    await tree.getByRole("link", { name: "ada" }).click();
    await page.waitForURL("**/console/store?in=users&in=ada");
    const items = page.getByRole("table", { name: "Items" });
    await items.getByRole("row", { name: /engine .*projects/ }).waitFor();
    // The items of the namespace before stay, dimmed, until those of this one are there.
    await items.getByRole("row", { name: /Grace/ }).waitFor({ state: "detached" });
    expect(await items.locator("tbody tr").count()).toBe(2);
    expect(await findingsInBothThemes(page)).toEqual([]);
    await items.getByRole("link", { name: "engine" }).click();
    const value = page.getByRole("region", { name: "Value" });
    await value.getByText("Writes about the engine.").waitFor();
    expect(await items.locator("tbody tr").count()).toBe(2);
    expect(await findingsInBothThemes(page)).toEqual([]);
    await page.reload();
    await value.getByText("Writes about the engine.").waitFor();
    await page.getByRole("button", { name: "Close the item" }).click();
    await page.waitForURL("**/console/store?in=users&in=ada");
    expect(troubles).toEqual([]);
    await close();
  });

  it("moves in the tree by keys", async () => {
    await seed();
    const { page, close } = await visit(stage, { path: "/console/store" });
    const tree = page.getByRole("navigation", { name: "Namespaces" });
    await tree.getByRole("link", { name: "users" }).waitFor();
    await tree.getByRole("link", { name: "knowledge" }).focus();
    for (const name of ["places", "users"]) {
      if ((await tree.getByRole("link", { name }).count()) === 0) continue;
      await page.keyboard.press("ArrowDown");
      await waitForFocus(page, tree.getByRole("link", { name }));
    }
    await page.keyboard.press("ArrowRight");
    await tree.getByRole("link", { name: "grace" }).waitFor();
    await page.keyboard.press("ArrowDown");
    await waitForFocus(page, tree.getByRole("link", { name: "ada" }));
    await page.keyboard.press("Enter");
    await page.waitForURL("**/console/store?in=users&in=ada");
    expect(await findings(page)).toEqual([]);
    await close();
  });

  it("searches the texts of a namespace, and keeps the search in the address", async () => {
    await seed();
    const { page, close } = await visit(stage, { path: "/console/store" });
    await page.getByLabel("Search items").fill("refunds");
    await page.waitForURL("**/console/store?query=refunds");
    const rows = page.getByRole("table", { name: "Items" }).locator("tbody tr");
    await page
      .getByRole("row", { name: /profile/ })
      .first()
      .waitFor({ state: "detached" });
    expect(await rows.count()).toBe(1);
    await page.reload();
    await rows.getByText("limit").waitFor();
    expect(await page.getByLabel("Search items").inputValue()).toBe("refunds");
    await page.getByLabel("Search items").fill("nothing-has-this");
    await page.getByText("No items match.").waitFor();
    expect(await findings(page)).toEqual([]);
    await close();
  });

  it("changes an item, and deletes it", async () => {
    await put(["drafts"], "one", { text: "first" });
    const { page, close } = await visit(stage, { path: "/console/store?in=drafts&key=one" });
    await page.getByRole("button", { name: "Edit" }).click();
    expect(await findings(page)).toEqual([]);
    await page.getByLabel("Value").fill("[1]");
    await page.getByRole("button", { name: "Write item" }).click();
    await page.getByRole("alert").waitFor();
    await page.getByLabel("Value").fill('{"text": "second"}');
    await page.getByRole("button", { name: "Write item" }).click();
    await page.getByRole("region", { name: "Value" }).getByText("second").waitFor();
    expect(await item(["drafts"], "one")).toMatchObject({ value: { text: "second" } });
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    expect(await findings(page)).toEqual([]);
    await page.getByRole("button", { name: "Delete item" }).click();
    await page.getByText("No items in this namespace.").waitFor();
    expect(await item(["drafts"], "one")).toBeNull();
    await page.goto(`${stage.server.url}/console/store?in=drafts&key=one`);
    await page.getByText("There is no such item.").waitFor();
    await close();
  });

  it("fits a phone", async () => {
    await seed();
    const { page, close } = await visit(stage, { ...PHONE, path: "/console/store" });
    await page.getByRole("navigation", { name: "Namespaces below" }).getByRole("link", { name: "users" }).tap();
    await page.getByRole("navigation", { name: "Namespaces below" }).getByRole("link", { name: "ada" }).tap();
    await page.getByRole("row", { name: /Grace/ }).waitFor({ state: "detached" });
    await expectNoSidewaysScroll(page);
    expect(await findings(page)).toEqual([]);
    await page.getByRole("link", { name: "profile" }).tap();
    await page.getByRole("region", { name: "Value" }).getByText("Turin").waitFor();
    await expectNoSidewaysScroll(page);
    expect(await findings(page)).toEqual([]);
    await close();
  });
});
