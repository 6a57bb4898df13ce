/** A lease outlasts all waits of its owner, so that no run ever has two active owners. */
import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { exportRuns } from "../../../src/exports/table.ts";
import { openStore } from "../../../src/exports/destinations/open.ts";
import { leaseRun } from "../../../src/exports/ledger/lease.ts";
import { LIMITS } from "../../../src/exports/limits.ts";
import { listExportRuns } from "../../../src/exports/store.ts";
import { advance } from "../../../src/exports/work.ts";
import { ATTEMPTS, LONGEST_CALL_MS, S3Store, TIMEOUT_MS } from "../../../src/exports/s3/client.ts";
import { newCaller } from "../../support/caller.ts";
import { makeRuns } from "../../support/runs.ts";
import {
  DAY_1,
  listExpectedRows,
  exportRow,
  MICROS_PER_DAY,
  newDestination,
  newExport,
  newProject,
  newWorld,
  readExport,
  type World,
} from "../support.ts";

let workspaceId: string;
beforeEach(async () => {
  ({ workspaceId } = await newCaller());
});
afterEach(() => void vi.useRealTimers());

it("is longer than its age at a renewal and the longest call of a store together", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
  const waitForAbort = (request: Request) =>
    new Promise<Response>((_, reject) =>
      request.signal.addEventListener("abort", () => reject(request.signal.reason as Error)),
    );
  const address = {
    bucket: "lake",
    region: "auto",
    endpointUrl: "https://s3.example.com",
    addressingStyle: "path",
    bucketInUrl: true,
    accelerate: false,
  } as const;
  const credentials = { accessKeyId: "AKID", secretAccessKey: "secret" };
  const store = new S3Store(
    { address, credentials, objectHeaders: {}, requestHeaders: {} },
    {
      fetch: waitForAbort,
      now: () => Date.now(),
      sleep: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
    },
  );
  const began = Date.now();
  const ended = { after: 0 };
  const call = store.put("key", new Uint8Array(10), "text/plain").catch(() => (ended.after = Date.now() - began));
  while (ended.after === 0) {
    await vi.advanceTimersByTimeAsync(250);
    // Signing a request takes turns of the real event loop.
    await scheduler.wait(0);
    if (Date.now() - began > 600_000) throw new Error("The call does not end.");
  }
  await call;
  expect(Math.abs(ended.after - LONGEST_CALL_MS)).toBeLessThan(1_000);
  expect(LIMITS.lease).toBeGreaterThan(LIMITS.renewAfter + LONGEST_CALL_MS);
});

/**
 * Makes every attempt of every call take as long as it may, and checks whether another owner could claim a run in the
 * meantime.
 */
function slowStore(world: World, exportId: string, fails: (call: number) => boolean) {
  const seen = { calls: 0, taken: 0, looked: 0 };
  let attempt = 0;
  const fetch = async (request: Request) => {
    const { clock, deps } = world;
    clock.now += TIMEOUT_MS - 1;
    const last = ++attempt % ATTEMPTS === 0;
    if (last) seen.calls++;
    const runs = await listExportRuns(deps.db, exportId, { limit: 10, offset: 0 });
    for (const { id, status } of runs) {
      if (status !== "RUNNING") continue;
      seen.looked++;
      if (await leaseRun(deps.db, id, clock.now, clock.now + deps.limits.lease)) seen.taken++;
    }
    if (!last || fails(seen.calls)) throw new TypeError("Network connection lost.");
    return world.s3.fetch(request);
  };
  world.deps.open = (destination) =>
    openStore(destination, {
      bucket: env.EXPORTS_BUCKET,
      allowPrivateEndpoints: true,
      fetch,
      now: () => world.clock.now,
      sleep: async (milliseconds) => void (world.clock.now += milliseconds),
    });
  return seen;
}

describe("while a store is as slow as it may be", () => {
  it.for([
    ["and every call succeeds at last", () => false],
    ["and a part cannot be uploaded", (call: number) => call === 2],
    ["and an upload can neither be completed nor cleared away", (call: number) => call === 5 || call === 6],
  ] as const)("no other owner takes a run: %s", async ([, fails]) => {
    const world = newWorld({ limits: { sliceRows: 50, pageRows: 20, partBytes: 4_096 } });
    const session_id = await newProject(world, workspaceId);
    const common = { tenantId: workspaceId, projectId: session_id, from: DAY_1, spread: MICROS_PER_DAY };
    world.runs = makeRuns({ ...common, count: 100, seed: 5, size: 300 });
    const job = await newExport(world, workspaceId, {
      bulk_export_destination_id: await newDestination(world, workspaceId),
      session_id,
      end_time: DAY_1 + MICROS_PER_DAY,
      compression: "none",
    });
    const seen = slowStore(world, job.id, fails);
    await world.settle({ minutes: 30 });
    expect(seen.looked).toBeGreaterThan(10);
    expect(seen.taken).toBe(0);
    expect(await exportRow(world, job.id)).toMatchObject({ status: "COMPLETED" });
    expect((await readExport(world.s3, job.id)).rows).toEqual(listExpectedRows(world.runs));
  });
});

it("a day that needs more files than its row can list fails, and says so", async () => {
  const world = newWorld();
  const session_id = await newProject(world, workspaceId);
  const job = await newExport(world, workspaceId, {
    bulk_export_destination_id: await newDestination(world, workspaceId),
    session_id,
    end_time: DAY_1 + MICROS_PER_DAY,
  });
  world.runs = makeRuns({
    tenantId: workspaceId,
    projectId: session_id,
    from: DAY_1,
    spread: 1_000,
    count: 3,
    seed: 1,
  });
  await advance(world.deps, { exportId: job.id });
  const file = { location: "l".repeat(500), key: "k".repeat(500), rows: 1, bytes: 1, sha256: "", shard: 0 };
  const files = Array.from({ length: 1_500 }, () => file);
  await world.deps.db.update(exportRuns).set({ files }).where(eq(exportRuns.exportId, job.id));
  await world.settle({ minutes: 1 });
  const { status, error } = await exportRow(world, job.id);
  expect([status, error]).toEqual(["FAILED", expect.stringContaining("TooManyFiles")]);
});

it("a run that kills each of its owners fails after as many attempts as one that the store refuses", async () => {
  const world = newWorld();
  const session_id = await newProject(world, workspaceId);
  const job = await newExport(world, workspaceId, {
    bulk_export_destination_id: await newDestination(world, workspaceId),
    session_id,
    end_time: DAY_1 + MICROS_PER_DAY,
  });
  let claims = 0;
  world.deps.at = async (point) => {
    if (point !== "claimed") return;
    claims++;
    throw new Error("The isolate has used up its memory.");
  };
  await world.settle({ minutes: 180, handle: (wake) => advance(world.deps, wake).catch(() => undefined) });
  expect(claims).toBe(LIMITS.retries + 1);
  const [run] = await listExportRuns(world.deps.db, job.id, { limit: 1, offset: 0 });
  expect(run).toMatchObject({ status: "FAILED", retryNumber: LIMITS.retries + 1 });
  expect(await exportRow(world, job.id)).toMatchObject({
    status: "FAILED",
    error: expect.stringContaining("Interrupted"),
  });
});
