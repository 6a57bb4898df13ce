/** Everything the engine needs of the world, in one parameter: with these under control, a seed controls a whole export. */
import type { KeySource } from "../access/encryption/keys.ts";
import { openSealedBlobs } from "../access/encryption/blobs.ts";
import { database, type Database } from "../db/client.ts";
import type { ObjectStore } from "./s3/store.ts";
import { resolveColumn, type RunPage, type Texts } from "../traces/columns.ts";
import type { TracePartitionRpc } from "../traces/rpc.ts";
import { tracePartition } from "../traces/stub.ts";
import type { PayloadField, PartitionLocation } from "../traces/types.ts";
import { type OpenDestination, openStore, storeWorld } from "./destinations/open.ts";
import { type ExportLimits, LIMITS, maxExperiments } from "./limits.ts";
import { Slots } from "./slots.ts";

/**
 * The content of a queue message: the id of an export or of an export run to check. The state is only in the ledger.
 */
export type ExportMessage = { exportId: string } | RunMessage;
export interface RunMessage {
  runId: string;
  destinationId: string;
}

/** Steps after which a crash leaves work unfinished. Tests stop the process there. */
export type CrashPoint =
  | "claimed"
  | "part uploaded"
  | "before complete"
  | "after complete"
  | "before commit"
  | "after commit"
  | "before manifest"
  | "after manifest"
  | "before ack";

export interface ExportDeps {
  db: Database;
  keys: KeySource;
  limits: ExportLimits;
  slots: Slots;
  maxExperiments: number;
  /** Milliseconds since the epoch. */
  now: () => number;
  newId: () => string;
  partition(workspaceId: string, location: PartitionLocation): TracePartitionRpc;
  /** Returns a payload column, including the payloads in R2. */
  resolve: (page: RunPage, field: PayloadField) => Promise<Texts | undefined>;
  open(destination: OpenDestination): ObjectStore;
  send(sent: ExportMessage, delaySeconds?: number): Promise<void>;
  at(point: CrashPoint): Promise<void>;
  /** Lets the isolate answer other requests. Without timers its event loop takes no new connection. */
  pause: () => Promise<void>;
}

/** Of this isolate: the queue may send more runs to it than fit into its memory. */
const SLOTS = new Slots(LIMITS.runsPerIsolate);

/** The real world of a running Worker. */
export function createExportDeps(env: Env): ExportDeps {
  const world = storeWorld(env);
  return {
    db: database(env.DB),
    keys: env,
    limits: LIMITS,
    slots: SLOTS,
    maxExperiments: maxExperiments(env),
    now: () => Date.now(),
    newId: () => crypto.randomUUID(),
    partition: (workspaceId, location) => tracePartition(env, workspaceId, location),
    resolve: (page, field) => resolveColumn(openSealedBlobs(env), page, field),
    open: (destination) => openStore(destination, world),
    send: async (sent, delaySeconds = 0) => {
      await env.EXPORTS.send(sent, { delaySeconds });
    },
    at: async () => undefined,
    pause: () => new Promise((resolve) => setTimeout(resolve, 0)),
  };
}
