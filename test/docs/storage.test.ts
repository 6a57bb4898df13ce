/** docs/storage.md names every table, prefix and queue that the code has. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { getTableName, is, Table } from "drizzle-orm";
import { expect, it } from "vitest";
import config from "../../drizzle.config.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const page = readFileSync(join(ROOT, "docs", "storage.md"), "utf8");
const named = new Set([...page.matchAll(/`([a-z_0-9]+)`/g)].map(([, name]) => name));

/** The names that `pattern` finds in all files of these. */
function findMatches(files: string, pattern: RegExp): string[] {
  return globSync(files, { cwd: ROOT })
    .flatMap((file) => [...readFileSync(join(ROOT, file), "utf8").matchAll(pattern)])
    .map(([, name = ""]) => name);
}

it("every table of D1 is named", async () => {
  const files = globSync(config.schema, { cwd: ROOT });
  const modules = await Promise.all(files.map((file) => import(join(ROOT, file)) as Promise<Record<string, unknown>>));
  const tables = modules.flatMap(Object.values).flatMap((value) => (is(value, Table) ? [getTableName(value)] : []));
  const virtual = findMatches("migrations/*.sql", /CREATE VIRTUAL TABLE (?:IF NOT EXISTS )?[`"]?(\w+)/g);
  expect(tables.length).toBeGreaterThan(30);
  expect([...tables, ...virtual].filter((table) => !named.has(table))).toEqual([]);
});

it("every table that code makes is named, as those of the Durable Objects", () => {
  const tables = findMatches("src/**/*.ts", /CREATE TABLE (?:IF NOT EXISTS )?"?(\w+)/g);
  expect(tables.length).toBeGreaterThan(20);
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
