/**
 * Test files of one isolate share `graphs`. When two of them register a graph under one id, their order decides which one runs. A
 * graph in the place of a demo graph is gone after its file (support/workers-setup.ts).
 */
import { readFileSync } from "node:fs";
import { glob } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import demo from "../../examples/demo/langgraph.json" with { type: "json" };

const TESTS = join(import.meta.dirname, "..");
/** `graphs.name = …` and `Object.assign(graphs, { name, other: … })` at the top level: what a test sets in its body, it restores. */
const SET = /^graphs\.(\w+) =/gm;
const ASSIGNED = /^Object\.assign\(graphs, \{([^}]*)\}\);/gm;

function listRegistered(text: string): string[] {
  const assigned = [...text.matchAll(ASSIGNED)].flatMap(([, members = ""]) => members.split(","));
  const names = assigned.map((member) => member.split(":")[0]?.trim() ?? "");
  return [...[...text.matchAll(SET)].map(([, name = ""]) => name), ...names].filter(Boolean);
}

it("registers each graph under an id of its own", async () => {
  const files = new Map<string, string[]>();
  for await (const file of glob("**/*.ts", { cwd: TESTS }))
    for (const id of listRegistered(readFileSync(join(TESTS, file), "utf8")))
      files.set(id, [...(files.get(id) ?? []), file]);
  expect(files.size).toBeGreaterThan(20);
  expect([...files].filter(([id, of]) => of.length > 1 && !(id in demo.graphs))).toEqual([]);
});
