/** `weir eval` against a running server: its evaluators, its comparison, and what it refuses. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { run } from "../../src/cli/eval.ts";
import { callAs } from "../support/workspace.ts";
import { sharedServer } from "../support/shared-server.ts";
import type { TestServer } from "../support/server.ts";
import { runPrinted } from "./support/printed.ts";

let server: TestServer;
let folder: string;
beforeAll(async () => {
  server = await sharedServer();
  folder = mkdtempSync(join(tmpdir(), "weir-eval-"));
  vi.stubEnv("WEIR_API_KEY", server.key);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
  await server.stop();
});

const message = (content: string) => ({ messages: [{ role: "user", content }] });

/** A dataset whose examples want back what is said; the last one wants something else. */
async function newDataset(name: string, said: string[]): Promise<void> {
  const { id } = await callAs<{ id: string }>(server, "POST", "/api/v1/datasets", { name });
  for (const [i, text] of said.entries())
    await callAs(server, "POST", "/api/v1/examples", {
      dataset_id: id,
      inputs: message(text),
      outputs: { answer: text },
      split: i === 0 ? "first" : "rest",
    });
}

function evaluators(source: string): string {
  const file = join(folder, `${crypto.randomUUID()}.ts`);
  writeFileSync(file, source);
  return file;
}

/** Runs `weir eval`: its exit code, and what it printed. */
const evaluate = (...argv: string[]) => runPrinted(() => run([...argv, "--url", server.url]));

test("the evaluators of a module score each example, and regressions end the command with 1", async () => {
  await newDataset("echoes", ["one", "two", "three"]);
  const good = evaluators(`
    type Given = { inputs: { messages: unknown[] }; outputs: { messages: unknown[] }; referenceOutputs: { answer: string } };
    export const longer = ({ inputs, outputs }: Given) => outputs.messages.length > inputs.messages.length;
    export const correct = async ({ referenceOutputs }: Given) => ({ score: 1, comment: referenceOutputs.answer });
    export const limit = 3;
  `);
  const base = ["--dataset", "echoes", "--assistant", "echo"];
  const [code, printed] = await evaluate(...base, "--evaluators", good, "--contains", "--fail-on-regression");
  expect(printed).toMatch(/^echo-[0-9a-f]{8}: 3 runs, 0 failed\nthe first experiment of the dataset/);
  for (const key of ["longer", "correct", "contains_expected"]) expect(printed).toMatch(new RegExp(`${key} +1\\.000`));
  expect(code).toBe(0);

  const worse = evaluators(`
    export const correct = ({ referenceOutputs }) => (referenceOutputs.answer === "two" ? 0 : 1);
    export const other = () => 1;
  `);
  const again = [...base, "--evaluators", `${worse}:correct`, "--name", "next"];
  const [regressed, compared] = await evaluate(...again, "--fail-on-regression");
  expect(compared).toMatch(/^next-[0-9a-f]{8}: 3 runs, 0 failed\ncompared with echo-/);
  expect(compared).toMatch(/correct +0\.667 .*−0\.333 {2}0 better, 1 worse/);
  expect(compared).not.toContain("other");
  expect(regressed).toBe(1);
  // Without the option a regression is only reported, and the newest experiment is the baseline.
  expect((await evaluate(...again))[0]).toBe(0);
  const name = /compared with (echo-\S+)/.exec(compared)?.[1] ?? "";
  const [, json] = await evaluate(...base, "--exact", "--split", "first", "--baseline", name, "--json");
  expect(JSON.parse(json)).toMatchObject({ experiments: [{ name }, { run_count: 1 }], unscored: 0 });
});

test("an assistant judges, and a judge without a verdict leaves a score out", async () => {
  await newDataset("judged", ["one"]);
  const base = ["--dataset", "judged", "--assistant", "echo", "--judge", "echo"];
  // The judge repeats its instructions.
  const [code, printed] = await evaluate(...base, "--criteria", '{"score": 0.25, "comment": "short"}');
  expect(printed).toMatch(/judge +0\.250/);
  expect(code).toBe(0);
  const [failed, said] = await evaluate(...base, "--criteria", "be kind");
  expect(said).toContain("1 scores are missing.\n  The first fault: The judge gave no JSON object");
  expect(failed).toBe(1);
  const loud = evaluators('export const loud = () => { throw new Error("\\u001b[31mred"); };');
  const [, heard] = await evaluate("--dataset", "judged", "--assistant", "echo", "--evaluators", loud);
  expect(heard).toContain("1 scores are missing.\n  The first fault: ?[31mred");
});

test("what is missing is named", async () => {
  await newDataset("named", ["one"]);
  const base = ["--dataset", "named", "--assistant", "echo"];
  await expect(evaluate("--dataset", "nothing", "--assistant", "echo")).rejects.toThrow('no dataset "nothing"');
  await expect(evaluate(...base, "--baseline", "old")).rejects.toThrow('no experiment "old"');
  await expect(evaluate(...base, "--judge", "echo")).rejects.toThrow("--criteria");
  await expect(evaluate(...base, "--concurrency", "0")).rejects.toThrow("--concurrency");
  await expect(evaluate(...base, "--split", "none")).rejects.toThrow("no example");
  await expect(evaluate(...base, "--evaluators", join(folder, "none.ts"))).rejects.toThrow("There is no file");
  await expect(evaluate(...base, "--evaluators", evaluators("export const a = 1;"))).rejects.toThrow("no function");
  await expect(evaluate("--dataset", "named", "--assistant", "nobody")).rejects.toThrow(/nobody|ssistant/);
});
