/** docs/storage.md names every table, prefix and queue that the code has. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "..", "..");
const page = readFileSync(join(ROOT, "docs", "storage.md"), "utf8");
const named = new Set([...page.matchAll(/`([a-z_0-9]+)`/g)].map(([, name]) => name));

/** The names that `pattern` finds in the files of a folder. */
function findMatches(folder: string, pattern: RegExp): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => /\.(ts|sql)$/.test(file))
    .flatMap((file) => [...readFileSync(join(ROOT, folder, file), "utf8").matchAll(pattern)])
    .map(([, name = ""]) => name);
}

it("every table of D1 is named", () => {
  const tables = findMatches("src/db", /sqliteTable\(\s*"(\w+)"/g);
  const virtual = findMatches("migrations", /CREATE VIRTUAL TABLE (?:IF NOT EXISTS )?[`"]?(\w+)/g);
  expect(tables.length).toBeGreaterThan(30);
  expect([...tables, ...virtual].filter((table) => !named.has(table))).toEqual([]);
});

it("every table of the Durable Objects is named", () => {
  const tables = [...findMatches("src/threads", /CREATE TABLE (?:IF NOT EXISTS )?(\w+)/g)];
  tables.push(...findMatches("src/traces", /CREATE TABLE (?:IF NOT EXISTS )?(\w+)/g));
  expect(tables.length).toBeGreaterThan(15);
  expect(tables.filter((table) => !named.has(table))).toEqual([]);
});

it("every binding that holds data is named", () => {
  const wrangler = readFileSync(join(ROOT, "wrangler.toml"), "utf8");
  const buckets = [...wrangler.matchAll(/\[\[r2_buckets\]\]\nbinding = "(\w+)"/g)].map(([, name]) => name);
  const queues = [...wrangler.matchAll(/^queue = "([\w-]+)"/gm)].map(([, name]) => name);
  const classes = [...wrangler.matchAll(/^class_name = "(\w+)"/gm)].map(([, name]) => name);
  const names = [...buckets, ...queues, ...classes];
  expect(names.length).toBeGreaterThan(5);
  expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});
