/**
 * What a Durable Object keeps in its storage, for tests in workerd.
 *
 * `ctx.storage.sql.databaseSize` in local workerd is 4,096 for an object that was never written, after statements that only
 * read, and after `deleteAll()`. Each table or index adds at least a page of 4,096. `setAlarm` makes the table
 * `_cf_METADATA` and `put` the table `_cf_KV`; both stay when the alarm or the key is deleted, and go with `deleteAll()`.
 *
 * Under `wrangler dev`, and in servers of tests in Node, each object also gets a table `__miniflare_do_name` when it is
 * constructed: 4,096 bytes that are not the product's.
 */
import { runInDurableObject } from "cloudflare:test";
import { expect } from "vitest";

/** `databaseSize` of an object that holds nothing. */
const EMPTY = 4_096;

export interface Stored {
  /** `ctx.storage.sql.databaseSize`, less that of an object that holds nothing: a multiple of 4,096. */
  bytes: number;
  /** Names of its tables and indices, those of the runtime (`_cf_KV`, `_cf_METADATA`) included. */
  tables: string[];
  /** When its alarm comes, milliseconds. */
  alarm: number | null;
}

/** What the object holds now. Constructs it if it is not running. */
export async function measureStored(stub: DurableObjectStub): Promise<Stored> {
  return runInDurableObject(stub, async (_instance, { storage }) => ({
    bytes: storage.sql.databaseSize - EMPTY,
    tables: storage.sql
      .exec<{ name: string }>("SELECT name FROM sqlite_master")
      .toArray()
      .map(({ name }) => name),
    alarm: await storage.getAlarm(),
  }));
}

/** Fails unless the object has no table, no index, no key and no alarm. */
export async function expectNothingStored(stub: DurableObjectStub): Promise<void> {
  expect(await measureStored(stub)).toEqual({ bytes: 0, tables: [], alarm: null });
}
