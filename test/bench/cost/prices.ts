/**
 * Prices of Cloudflare's paid plan beyond what it includes, in dollars, as its documentation gave them in November 2026:
 * the pages "Pricing" of Workers, Durable Objects, D1, R2 and Queues, and "Workers Logs".
 */
import type { Counts, Meter } from "../../support/counting/counts.ts";

/** Memory that an active Durable Object is billed for at any use: 128 MB of 1 GB. */
const OBJECT_GB = 0.128;
/** Incoming WebSocket messages that are billed as one request of an object. */
const MESSAGES_A_REQUEST = 20;

export interface Price {
  meter: string;
  /** The page of Cloudflare's documentation. */
  page: "Workers" | "Durable Objects" | "D1" | "R2" | "Queues" | "Workers Logs";
  /** Dollars for a million. */
  million: number;
  amount: (counts: Counts) => number;
}

const sum = (counts: Counts, ...meters: Meter[]) => meters.reduce((total, meter) => total + (counts[meter] ?? 0), 0);

const invocations = (counts: Counts) =>
  sum(counts, "calls: Thread", "calls: TracePartition", "alarms run: Thread", "alarms run: TracePartition");

/** Setting an alarm is billed as a row written. */
const rowsWritten = (counts: Counts) =>
  sum(
    counts,
    "rows written: Thread",
    "rows written: TracePartition",
    "alarms set: Thread",
    "alarms set: TracePartition",
  );

export const PRICES: Price[] = [
  { meter: "requests", page: "Workers", million: 0.3, amount: (counts) => sum(counts, "requests") },
  {
    meter: "object requests",
    page: "Durable Objects",
    million: 0.15,
    amount: (counts) => invocations(counts) + sum(counts, "socket messages") / MESSAGES_A_REQUEST,
  },
  {
    meter: "GB-s",
    page: "Durable Objects",
    million: 12.5,
    amount: (counts) => sum(counts, "active: Thread", "active: TracePartition") * OBJECT_GB,
  },
  {
    meter: "object rows read",
    page: "Durable Objects",
    million: 0.001,
    amount: (counts) => sum(counts, "rows read: Thread", "rows read: TracePartition"),
  },
  { meter: "object rows written", page: "Durable Objects", million: 1, amount: rowsWritten },
  { meter: "D1 rows read", page: "D1", million: 0.001, amount: (counts) => sum(counts, "D1 rows read") },
  { meter: "D1 rows written", page: "D1", million: 1, amount: (counts) => sum(counts, "D1 rows written") },
  { meter: "R2 class A", page: "R2", million: 4.5, amount: (counts) => sum(counts, "R2 class A") },
  { meter: "R2 class B", page: "R2", million: 0.36, amount: (counts) => sum(counts, "R2 class B") },
  { meter: "queue operations", page: "Queues", million: 0.4, amount: (counts) => sum(counts, "queue operations") },
  {
    // Each invocation is logged, and each line that it writes.
    meter: "log events",
    page: "Workers Logs",
    million: 0.6,
    amount: (counts) => sum(counts, "requests", "batches", "log lines") + invocations(counts),
  },
];

/** Dollars for a million milliseconds of a Worker's processor time. That of objects is not billed, their duration is. */
export const CPU_MS = 0.02;

/** What stays in the databases of Durable Objects, a GB and month. */
export const STORED_GB_MONTH = 0.2;
