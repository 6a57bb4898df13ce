import { describe, expect, it } from "vitest";
import { callAs } from "../support/workspace.ts";
import { sharedServer } from "../support/shared-server.ts";
import {
  browserHere,
  checkEventually,
  expectFacts,
  expectNoSidewaysScroll,
  findingsInBothThemes,
  onStage,
  PHONE,
  readShownId,
  visit,
} from "./page.ts";

interface Example {
  id: string;
  inputs: Record<string, unknown>;
  outputs: unknown;
  metadata: { dataset_split?: string[]; source?: string };
}

describe.runIf(browserHere)("datasets in the browser", () => {
  const stage = onStage(() => sharedServer());
  const call = <T>(method: string, path: string, body?: unknown) => callAs<T>(stage.server, method, path, body);
  const examples = (dataset: string) => call<Example[]>("GET", `/api/v1/examples?dataset=${dataset}`);

  async function newDataset(name: string, ...questions: string[]): Promise<string> {
    const { id } = await call<{ id: string }>("POST", "/api/v1/datasets", { name });
    for (const question of questions)
      await call("POST", "/api/v1/examples", { dataset_id: id, inputs: { question }, outputs: { answer: question } });
    return id;
  }

  it("makes a dataset of a CSV file whose columns are chosen, and downloads it again", async () => {
    const { page, troubles, close } = await visit(stage, { path: "/console/datasets" });
    await page.getByRole("link", { name: "New dataset" }).click();
    await page.getByLabel("File (optional)").setInputFiles({
      name: "capitals.csv",
      mimeType: "text/csv",
      buffer: Buffer.from(
        'question,"the answer",origin\n"Capital of Peru, please",Lima,atlas\nCapital of Mali,Bamako,web\n',
      ),
    });
    expect(await page.getByLabel("question").inputValue()).toBe("inputs");
    expect(await page.getByLabel("Name").inputValue()).toBe("capitals");
    await page.getByLabel("the answer").selectOption("outputs");
    await page.getByLabel("origin").selectOption("metadata");
    expect(await findingsInBothThemes(page)).toEqual([]);
    await page.getByRole("button", { name: "Create dataset" }).click();
    const table = page.getByRole("table", { name: "Examples" });
    await table.getByRole("row", { name: /Capital of Peru, please.*Lima/ }).waitFor();
    const id = readShownId(page);
    expect(await examples(id)).toMatchObject([
      {
        inputs: { question: "Capital of Peru, please" },
        outputs: { "the answer": "Lima" },
        metadata: { origin: "atlas" },
      },
      { inputs: { question: "Capital of Mali" }, outputs: { "the answer": "Bamako" } },
    ]);
    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download JSONL" }).click();
    const file = await saved;
    expect(file.suggestedFilename()).toBe("capitals.jsonl");
    // What was downloaded is imported again, as one version.
    await page.getByRole("button", { name: "Import" }).click();
    const dialog = page.getByRole("dialog", { name: "Import examples" });
    await dialog.getByLabel("File").setInputFiles({ name: "more.csv", mimeType: "text/csv", buffer: Buffer.from("") });
    await dialog.getByText("The file has no header.").waitFor();
    await dialog.getByLabel("File").setInputFiles(
      await file.path().then(async (path) => ({
        name: "capitals.jsonl",
        mimeType: "application/jsonl",
        buffer: await (await import("node:fs/promises")).readFile(path),
      })),
    );
    await dialog.getByRole("button", { name: "Import file" }).click();
    await dialog.waitFor({ state: "detached" });
    await checkEventually(
      () => table.getByRole("row").count(),
      (count) => expect(count).toBe(5),
    );
    // The dataset of the file is gone.
    await expect.poll(async () => call<unknown[]>("GET", "/api/v1/datasets")).toHaveLength(1);
    expect(troubles).toEqual([]);
    await close();
  });

  it("says how long ago each was changed, also as time passes", async () => {
    await newDataset("Of some minutes");
    const { page, close } = await visit(stage, { path: "/console/datasets" });
    const changed = page.getByRole("row", { name: "Of some minutes" }).locator("time");
    await checkEventually(
      () => changed.textContent(),
      (text) => expect(text).toBe("now"),
    );
    await page.clock.install();
    await page.reload();
    await changed.waitFor();
    await page.clock.fastForward("05:00");
    await checkEventually(
      () => changed.textContent(),
      (text) => expect(text).toMatch(/^[45] min ago$/),
    );
    await close();
  });

  it("edits an example, puts examples into a split, and shows the previous version", async () => {
    const id = await newDataset("edited", "one", "two", "three");
    const { page, close } = await visit(stage, { path: `/console/datasets/${id}` });
    const table = page.getByRole("table", { name: "Examples" });
    await table.getByRole("button", { name: "two" }).click();
    const dialog = page.getByRole("dialog", { name: "Example" });
    await dialog.getByLabel("Expected output").fill("[1]");
    await dialog.getByText("Expected a JSON object.").waitFor();
    await dialog.getByLabel("Expected output").fill('{"answer": "deux"}');
    await dialog.getByLabel("Splits").fill("hard, french");
    await dialog.getByLabel("Metadata").fill('{"source": "teacher"}');
    expect(await findingsInBothThemes(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Save example" }).click();
    await table.getByRole("row", { name: /two.*deux.*hard, french/ }).waitFor();
    const changed = (await examples(id)).find(({ inputs }) => inputs.question === "two");
    expect(changed?.metadata).toMatchObject({ source: "teacher", dataset_split: ["hard", "french"] });

    await table.getByRole("checkbox", { name: "Select three" }).check();
    await page.getByRole("button", { name: "Change split" }).click();
    const split = page.getByRole("dialog", { name: "Change split" });
    await split.getByLabel("Split", { exact: true }).fill("hard");
    await split.getByRole("button", { name: "Add to split" }).click();
    await split.waitFor({ state: "detached" });
    await page.getByLabel("Split", { exact: true }).selectOption("hard");
    await table.getByRole("row", { name: /one/ }).waitFor({ state: "detached" });
    // The list is loaded again for the split.
    await expect.poll(async () => table.getByRole("row").count()).toBe(3);
    await page.getByLabel("Split", { exact: true }).selectOption("");

    await page.getByRole("button", { name: "Name version" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill("prod");
    await page.getByRole("button", { name: "Save name" }).click();
    await page.getByRole("button", { name: "New example" }).click();
    const created = page.getByRole("dialog", { name: "New example" });
    await created.getByLabel("Input").fill('{"question": "four"}');
    await created.getByRole("button", { name: "Create example" }).click();
    await table.getByRole("row", { name: /four/ }).waitFor();
    const prod = page.getByLabel("Version", { exact: true }).getByRole("option", { name: /prod/ });
    await page.getByLabel("Version", { exact: true }).selectOption((await prod.getAttribute("value")) ?? "");
    await page.getByText("Since then 1 added, 0 changed, 0 removed").waitFor();
    await table.getByRole("row", { name: /four/ }).waitFor({ state: "detached" });
    // An older version is only read.
    await expect.poll(async () => page.getByRole("button", { name: "New example" }).count()).toBe(0);
    await expect.poll(async () => table.getByRole("checkbox").count()).toBe(0);
    await page.getByLabel("Version", { exact: true }).selectOption("");

    await table.getByRole("checkbox", { name: "Select four" }).check();
    await page.getByRole("button", { name: "Delete selected" }).click();
    await page.getByRole("button", { name: "Delete examples" }).click();
    await table.getByRole("row", { name: /four/ }).waitFor({ state: "detached" });
    await expect.poll(async () => (await examples(id)).length).toBe(3);
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByRole("button", { name: "Delete dataset" }).click();
    await page.waitForURL("**/console/datasets");
    expect(await call<{ id: string }[]>("GET", "/api/v1/datasets")).not.toContainEqual(expect.objectContaining({ id }));
    await close();
  });

  it("fits a phone, and only shows to a key that may only read", async () => {
    const id = await newDataset("read", "one");
    const { key } = await call<{ key: string }>("POST", "/api/v1/api-keys", { name: "reads", scopes: ["read"] });
    const reader = { ...stage, server: { ...stage.server, key } };
    const { page, close } = await visit(reader, { ...PHONE, path: "/console/datasets" });
    await expectFacts(page.getByRole("row", { name: /^read/ }), /Experiments: 0 experiments.*Changed: now/);
    await expectNoSidewaysScroll(page);
    expect(await page.getByRole("link", { name: "New dataset" }).count()).toBe(0);
    await page.goto(`${stage.server.url}/console/datasets/${id}`);
    await page.getByRole("button", { name: "one" }).click();
    expect(await page.getByRole("dialog").getByRole("button", { name: "Save example" }).isDisabled()).toBe(true);
    await expectNoSidewaysScroll(page);
    await close();
  });
});
