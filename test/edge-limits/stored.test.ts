/** What `storedBytes` says of an object in each state. */
import { expect, test } from "vitest";
import { runInDurableObject } from "cloudflare:test";
import { expectNothingStored, measureStored } from "../support/stored.ts";
import { newProbe } from "./probe.ts";

const PAGE = 4_096;

test("an object that was never written holds nothing, also after reads", async () => {
  const probe = newProbe();
  await expectNothingStored(probe);
  await runInDurableObject(probe, async (_probe, { storage }) => {
    storage.sql.exec("SELECT * FROM sqlite_master").toArray();
    await storage.get("a");
    await storage.deleteAlarm();
  });
  await expectNothingStored(probe);
});

test("a table is something, and after deleteAll there is nothing", async () => {
  const probe = newProbe();
  await runInDurableObject(probe, (_probe, { storage }) => void storage.sql.exec("CREATE TABLE t (a)"));
  expect(await measureStored(probe)).toEqual({ bytes: PAGE, tables: ["t"], alarm: null });
  await runInDurableObject(probe, (_probe, { storage }) => storage.deleteAll());
  await expectNothingStored(probe);
});

test("an alarm leaves a table of the runtime, which only deleteAll removes", async () => {
  const probe = newProbe();
  const at = Date.now() + 60_000;
  await runInDurableObject(probe, (_probe, { storage }) => storage.setAlarm(at));
  expect(await measureStored(probe)).toEqual({ bytes: PAGE, tables: ["_cf_METADATA"], alarm: at });
  await runInDurableObject(probe, (_probe, { storage }) => storage.deleteAlarm());
  expect(await measureStored(probe)).toEqual({ bytes: PAGE, tables: ["_cf_METADATA"], alarm: null });
  await runInDurableObject(probe, async (_probe, { storage }) => {
    await storage.setAlarm(at);
    await storage.deleteAll();
  });
  await expectNothingStored(probe);
});
