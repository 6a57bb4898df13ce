/** Limits of a Durable Object's storage, each crossed once. */
import { expect, test } from "vitest";
import { expectCrossing, failOnCrossings, figures, resetFigures } from "../support/edge-limits/record.ts";
import { runInStorage } from "./probe.ts";

const text = (bytes: number) => "x".repeat(bytes);
const TOO_BIG = /^EdgeLimit: string or blob too big: SQLITE_TOOBIG/;

function table({ sql }: DurableObjectStorage): SqlStorage {
  sql.exec("CREATE TABLE t (a, b)");
  return sql;
}

test("a bound string holds 2,000,000 bytes of UTF-8, and not one more", () =>
  runInStorage((storage) => {
    const sql = table(storage);
    resetFigures();
    sql.exec("INSERT INTO t (a) VALUES (?)", text(2_000_000));
    expect(figures().sql.bytes).toBe(2_000_000);
    expect(() => sql.exec("INSERT INTO t (a) VALUES (?)", text(2_000_001))).toThrow(TOO_BIG);
    expect(() => sql.exec("SELECT length(?)", "é".repeat(1_000_001))).toThrow(TOO_BIG);
    expect(() => sql.exec("SELECT length(?)", new Uint8Array(2_000_001))).toThrow(TOO_BIG);
    expect(expectCrossing("value")).toHaveLength(3);
    expect(sql.exec("SELECT count(*) AS n FROM t").one()).toEqual({ n: 1 });
  }));

test("a row binds 2,000,000 bytes in all", () =>
  runInStorage((storage) => {
    const sql = table(storage);
    const half = text(1_000_001);
    expect(() => sql.exec("INSERT INTO t VALUES (?, ?)", half, half)).toThrow(TOO_BIG);
    expect(() => sql.exec("INSERT INTO t SELECT ?1, ?2", half, half)).toThrow(TOO_BIG);
    expect(() => sql.exec("UPDATE t SET a = ?, b = ?", half, half)).toThrow(TOO_BIG);
    expect(() => sql.exec("WITH c AS (SELECT 1) INSERT INTO t VALUES ('(?', ?), (?, ?)", "", half, half)).toThrow(
      TOO_BIG,
    );
    expect(expectCrossing("row")).toHaveLength(4);
  }));

test("rows of one INSERT are measured separately, and so are a SELECT's values", () =>
  runInStorage((storage) => {
    const sql = table(storage);
    const half = text(1_000_001);
    sql.exec("INSERT INTO t VALUES (?, ')'), (?, null) ON CONFLICT DO NOTHING", half, half);
    expect(sql.exec("SELECT length(?) + length(?) AS n", half, half).one()).toEqual({ n: 2_000_002 });
  }));

test("a row that is read holds 2,000,000 bytes in all, however it is read", () =>
  runInStorage((storage) => {
    const sql = table(storage);
    const read = () => sql.exec("SELECT hex(zeroblob(500001)) AS a, hex(zeroblob(500001)) AS b");
    expect(() => read().toArray()).toThrow(TOO_BIG);
    expect(() => read().one()).toThrow(TOO_BIG);
    expect(() => read().next()).toThrow(TOO_BIG);
    expect(() => [...read()]).toThrow(TOO_BIG);
    expect(() => [...read().raw()]).toThrow(TOO_BIG);
    expect(expectCrossing("row")).toHaveLength(5);
    expect(() => sql.exec("SELECT hex(zeroblob(1000001)) AS a").toArray()).toThrow(TOO_BIG);
    expectCrossing("value");
    expect([...sql.exec("SELECT 1 AS a UNION SELECT 2").raw()]).toEqual([[1], [2]]);
  }));

test("a statement binds 100 values and has 100,000 bytes", () =>
  runInStorage(({ sql }) => {
    const list = (count: number) => Array.from({ length: count }, () => "?").join();
    const listOnes = (count: number) => Array.from({ length: count }, () => 1);
    sql.exec(`SELECT ${list(100)}`, ...listOnes(100));
    expect(() => sql.exec(`SELECT ${list(101)}`, ...listOnes(101))).toThrow(/^EdgeLimit: too many SQL variables/);
    expectCrossing("parameters");
    expect(() => sql.exec(`SELECT '${text(100_000)}'`)).toThrow(/^EdgeLimit: statement too long: SQLITE_TOOBIG/);
    expectCrossing("statement");
  }));

test("key and value together have 2,000,000 bytes", () =>
  runInStorage(async (storage) => {
    const message = /^EdgeLimit: Key and value together/;
    await storage.put("a", text(1_000_000));
    await expect(storage.put("a", text(2_000_000))).rejects.toThrow(message);
    await expect(storage.put({ a: 1, b: [text(1_000_000), text(1_000_000)] })).rejects.toThrow(message);
    expect(() => storage.kv.put("a", text(2_000_000))).toThrow(message);
    expect(expectCrossing("storage-value")).toHaveLength(3);
  }));

test("a crossing whose error was caught fails the test", () =>
  runInStorage(({ sql }) => {
    try {
      sql.exec("SELECT ?", text(2_000_001));
    } catch {
      // As code of the product might.
    }
    expect(failOnCrossings).toThrow(/value: EdgeLimit: string or blob too big/);
    expect(failOnCrossings).not.toThrow();
    expect(() => expectCrossing("value")).toThrow(/was not crossed/);
  }));
