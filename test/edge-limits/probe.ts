/** A Durable Object that runs the commands of a test. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { Probe } from "./worker.ts";

/** A new one. */
export function newProbe(): DurableObjectStub<Probe> {
  const { PROBE } = env as Env & { PROBE: DurableObjectNamespace<Probe> };
  return PROBE.getByName(crypto.randomUUID());
}

/** Does `work` with the storage of a new one. */
export const runInStorage = <T>(work: (storage: DurableObjectStorage) => T | Promise<T>): Promise<T> =>
  runInDurableObject(newProbe(), (_probe, { storage }) => work(storage));
