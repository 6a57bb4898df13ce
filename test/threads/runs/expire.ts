/** Threads whose time is over. */
import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import type { threadObject } from "../../../src/threads/remote.ts";
import { changeRecord } from "../../support/thread-tables.ts";

/** The member of a thread's record that says that its TTL has ended. */
export const TTL = { ttl: { strategy: "delete", ttl_minutes: 1, expires: 1 } };

/** Changes the thread's record, restarts its object, and runs the alarm. A restart ends a stub. */
export async function expire(stub: () => ReturnType<typeof threadObject>, change: object): Promise<void> {
  await runInDurableObject(stub(), (_, { storage }) => {
    changeRecord(storage, change);
  });
  await abortAllDurableObjects();
  await runDurableObjectAlarm(stub());
}
