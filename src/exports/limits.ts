/** How much at once, how long, and how often again. Times in milliseconds. */
import { LONGEST_CALL_MS } from "./s3/client.ts";

/** `keepWhenOld` renews a lease that is older than this. */
const RENEW_AFTER = 10_000;
/** Time between two renewals that is not spent in a store: reading and encoding a page, queries to D1. */
const WORK = 20_000;

export const LIMITS = {
  /** Export runs of one export at work at a time, and exports of one workspace. */
  runsPerExport: 45,
  exportsPerWorkspace: 15,
  /** Export runs at work in one isolate: each takes some 40 MB of its 128. */
  runsPerIsolate: 2,
  /** Messages that wait or are worked on, of all workspaces. Each workspace gets an equal share. */
  inFlight: 60,
  /** Exports a workspace may create in a rolling hour, spawned ones included; schedules leave room for people. */
  exportsPerHour: 250,
  spawnedPerHour: 200,
  schedules: 200,

  /** A slice ends after the page that passes one of these; each slice is one file. */
  sliceRows: 100_000,
  sliceBytes: 256 * 1024 * 1024,
  /** Parts of a file's upload: equal, as R2 requires, and at least 5 MiB, as S3 does. */
  partBytes: 5 * 1024 * 1024,
  /**
   * A page of the partition, and a row group of the file. Several of them must fit 128 MB in several copies, and reading or
   * encoding one must not keep the isolate from its requests.
   */
  pageRows: 2_000,
  pageBytes: 2 * 1024 * 1024,
  /** One invocation takes no new slice after this long. */
  invocation: 60_000,

  /**
   * About 121 seconds. A live owner renews its lease around every store call, so the lease must be longer than the slowest
   * call plus the age that a lease may have when the call starts.
   */
  lease: RENEW_AFTER + LONGEST_CALL_MS + WORK,
  renewAfter: RENEW_AFTER,
  /** A message that started no work within this time is sent again. */
  resendAfter: 120_000,

  /** Further attempts without progress, and the time before each. */
  retries: 20,
  retryDelay: 30_000,
  /** Specification 8. */
  timeout: 72 * 3_600_000,
};

export type ExportLimits = typeof LIMITS;

/** Experiments in one `all_experiments` export: 250 unless the deployment says otherwise (specification 8). */
export function maxExperiments(env: Pick<Env, "EXPORT_MAX_EXPERIMENTS">): number {
  if (env.EXPORT_MAX_EXPERIMENTS === "unlimited") return Number.POSITIVE_INFINITY;
  const configured = Number(env.EXPORT_MAX_EXPERIMENTS);
  return Number.isInteger(configured) && configured > 0 ? configured : 250;
}
