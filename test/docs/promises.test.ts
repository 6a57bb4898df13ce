/** Each proof in docs/promises.md exists: a test file, or a bench that `npm run bench` knows. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "..", "..");
const page = readFileSync(join(ROOT, "docs", "promises.md"), "utf8");
const rows = page
  .split("\n")
  .filter((line) => line.startsWith("| ") && !/^\| (Promise|-)/.test(line))
  .map((line) => line.split("|").map((cell) => cell.trim()));

it("each promise names a proof and a figure", () => {
  expect(rows.length).toBeGreaterThan(25);
  expect(rows.filter(([, promise, proof, figure]) => !promise || !proof || !figure)).toEqual([]);
  expect(rows.filter(([, , proof]) => !/test\/|npm run bench|the table there/.test(proof ?? ""))).toEqual([]);
});

it("each test that is named exists", () => {
  const files = [...page.matchAll(/\]\(\.\.\/(test\/[^)]+)\)/g)].map(([, file = ""]) => file);
  expect(files.length).toBeGreaterThan(40);
  expect(files.filter((file) => !file.endsWith(".test.ts") || !existsSync(join(ROOT, file)))).toEqual([]);
});

it("each promise that tests prove has one that `npm test` runs", () => {
  const proofs = rows.map(([, , proof = ""]) =>
    [...proof.matchAll(/\]\(\.\.\/(test\/[^)]+)\)/g)].map(([, file = ""]) => file),
  );
  const proven = proofs.filter((files) => files.length > 0);
  expect(proven.length).toBeGreaterThan(20);
  expect(proven.filter((files) => files.every((file) => file.endsWith(".slow.test.ts")))).toEqual([]);
});

it("each bench that is named exists", () => {
  const benches = [...page.matchAll(/npm run bench -- (\w+)/g)].map(([, name]) => `${name}.ts`);
  const known = readdirSync(join(ROOT, "tools", "bench"));
  expect(benches.length).toBeGreaterThan(2);
  expect(benches.filter((name) => !known.includes(name))).toEqual([]);
});
