/**
 * Prices of Cloudflare's paid plan beyond what it includes, in dollars, as its documentation gave them in November 2026:
 * the pages "Pricing" of Workers, Durable Objects, D1, R2 and Queues, and "Workers Logs".
 */
import { REQUEST_RATE } from "../../../src/lib/log.ts";
import type { Counts, Meter, ObjectMeter } from "../workers/counting/counts.ts";

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

const CLASSES = ["Ledger", "Limiter", "Thread", "ThreadIndex", "TraceIndex", "TracePartition"] as const;

const ofObjects = (counts: Counts, ...meters: ObjectMeter[]) =>
  sum(counts, ...CLASSES.flatMap((name) => meters.map((meter): Meter => `${meter}: ${name}`)));

export const PRICES: Price[] = [
  { meter: "requests", page: "Workers", million: 0.3, amount: (counts) => sum(counts, "requests") },
  {
    meter: "object requests",
    page: "Durable Objects",
    million: 0.15,
    amount: (counts) => ofObjects(counts, "calls", "alarms run") + sum(counts, "socket messages") / MESSAGES_A_REQUEST,
  },
  {
    meter: "GB-s",
    page: "Durable Objects",
    million: 12.5,
    amount: (counts) => ofObjects(counts, "active") * OBJECT_GB,
  },
  {
    meter: "object rows read",
    page: "Durable Objects",
    million: 0.001,
    amount: (counts) => ofObjects(counts, "rows read"),
  },
  {
    // Setting an alarm is billed as a row written.
    meter: "object rows written",
    page: "Durable Objects",
    million: 1,
    amount: (counts) => ofObjects(counts, "rows written", "alarms set"),
  },
  { meter: "D1 rows read", page: "D1", million: 0.001, amount: (counts) => sum(counts, "D1 rows read") },
  { meter: "D1 rows written", page: "D1", million: 1, amount: (counts) => sum(counts, "D1 rows written") },
  { meter: "R2 class A", page: "R2", million: 4.5, amount: (counts) => sum(counts, "R2 class A") },
  { meter: "R2 class B", page: "R2", million: 0.36, amount: (counts) => sum(counts, "R2 class B") },
  { meter: "queue operations", page: "Queues", million: 0.4, amount: (counts) => sum(counts, "queue operations") },
  {
    // A part of the requests is logged, and every fault. The bench's server logs no request, so that the count is exact.
    meter: "log events",
    page: "Workers Logs",
    million: 0.6,
    amount: (counts) => sum(counts, "requests") * REQUEST_RATE + sum(counts, "log lines"),
  },
];

/** Dollars for a million milliseconds of a Worker's processor time. That of objects is not billed, their duration is. */
export const CPU_MS = 0.02;

/** What stays in the databases of Durable Objects, a GB and month. */
export const STORED_GB_MONTH = 0.2;
