/** Threads whose time is over. */
import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import type { threadObject } from "../../src/threads/stub.ts";

/** The member of a thread's record that says that its TTL has ended. */
export const TTL = { ttl: { strategy: "delete", ttl_minutes: 1, expires: 1 } };

/** Changes the thread's record, restarts its object, and runs the alarm. A restart ends a stub. */
export async function expire(stub: () => ReturnType<typeof threadObject>, change: object): Promise<void> {
  await runInDurableObject(stub(), (_, { storage }) => {
    const { record } = storage.sql.exec<{ record: string }>("SELECT record FROM thread").one();
    storage.sql.exec("UPDATE thread SET record = ?", JSON.stringify({ ...(JSON.parse(record) as object), ...change }));
  });
  await abortAllDurableObjects();
  await runDurableObjectAlarm(stub());
}
