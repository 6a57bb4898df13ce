/** Limits of D1, each crossed once. */
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { D1_QUERIES, invoke } from "../support/edge-limits/invocation.ts";
import { expectCrossing } from "../support/edge-limits/record.ts";

/** The ways to run a statement. */
const WAYS: ((statement: D1PreparedStatement) => Promise<unknown>)[] = [
  (statement) => statement.first(),
  (statement) => statement.all(),
  (statement) => statement.run(),
  (statement) => statement.raw(),
  (statement) => env.DB.batch([statement]),
];

const text = (bytes: number) => "x".repeat(bytes);
const TOO_BIG = /^EdgeLimit: D1_ERROR: string or blob too big: SQLITE_TOOBIG/;

test("a bound value and a row hold 2,000,000 bytes, in a batch too", async () => {
  const createStatement = (bytes: number) => env.DB.prepare("SELECT length(?) AS n").bind(text(bytes));
  expect(await createStatement(2_000_000).first()).toEqual({ n: 2_000_000 });
  for (const run of WAYS) await expect(run(createStatement(2_000_001))).rejects.toThrow(TOO_BIG);
  expect(expectCrossing("value")).toHaveLength(5);
  const half = text(1_000_001);
  const row = env.DB.prepare("INSERT INTO workspaces (id, name) VALUES (?, ?)").bind(half, half);
  await expect(row.run()).rejects.toThrow(TOO_BIG);
  expectCrossing("row");
});

test("a row that is read holds 2,000,000 bytes", async () => {
  const statement = env.DB.prepare("SELECT hex(zeroblob(1000001)) AS a");
  for (const run of WAYS) await expect(run(statement)).rejects.toThrow(TOO_BIG);
  await expect(statement.first("a")).rejects.toThrow(TOO_BIG);
  expect(expectCrossing("value")).toHaveLength(6);
});

test("a statement binds 100 values and has 100,000 bytes", async () => {
  const many = env.DB.prepare(`SELECT ${Array.from({ length: 101 }, () => "?").join()}`);
  const bound = many.bind(...Array.from({ length: 101 }, () => 1));
  await expect(bound.all()).rejects.toThrow(/^EdgeLimit: D1_ERROR: too many SQL variables/);
  expectCrossing("parameters");
  const long = env.DB.prepare(`SELECT '${text(100_000)}'`).all();
  await expect(long).rejects.toThrow(/^EdgeLimit: D1_ERROR: statement too long: SQLITE_TOOBIG/);
  expectCrossing("statement");
});

test("an invocation sends 1,000 queries", async () => {
  const ask = () => env.DB.prepare("SELECT 1").first();
  await invoke("this test", async (invocation) => {
    invocation.queries = D1_QUERIES - 1;
    await ask();
    await expect(ask()).rejects.toThrow("EdgeLimit: D1_ERROR: Too many queries: this test sent 1001 to D1.");
  });
  expectCrossing("d1-queries");
});
