/** What the rest of Weir may ask of a workspace's limiter, and how to reach it. */
import { objectNamed, rpcProxy } from "../../lib/rpc.ts";
import { retryCalls } from "../../lib/retry.ts";
import type { SlotLease, QueuePosition, PoolUse } from "./book.ts";
import type { FlowRule } from "./rule.ts";
import type { FlowClaim } from "./run-flow.ts";
import { RowCache } from "../../lib/cache.ts";

/** A claim as a thread makes it. */
export type NewSlotLease = Pick<SlotLease, "runId" | "threadId" | "created" | "due"> & { claim: FlowClaim };

/** `full`: too many wait, so this claim has no place. The thread asks again later. */
export type AcquireResult = "granted" | "waits" | "full";

export interface WaitingLease extends QueuePosition {
  run_id: string;
  thread_id: string;
  priority: number;
  /** Milliseconds since the epoch. */
  due: number;
}

/** A run that has ended, as its thread's outbox keeps it until its slots are given back. */
export interface EndedRun {
  run_id: string;
  created: number;
  /** What it used, as traced. */
  tokens?: number;
}

/** All calls may be carried out twice. */
export interface FlowRpc {
  /** The rules of the workspace, by their ids. */
  rules(): Promise<FlowRule[]>;
  /** Creates or replaces a rule. False when the workspace has too many. */
  putRule(rule: FlowRule): Promise<boolean>;
  deleteRule(id: string): Promise<void>;
  /** Claims the slots of a run, which its thread has stored. The run begins only when the answer is "granted", or `Grant` is called. */
  acquire(lease: NewSlotLease): Promise<AcquireResult>;
  /** The run has ended: its thread has stored that. */
  release(runId: string, created: number, tokens?: number): Promise<void>;
  /** Where the run waits. Undefined when it does not. */
  position(runId: string): Promise<QueuePosition | undefined>;
  /** What is in use and waits, by rule and key, the longest queues first. */
  uses(most: number): Promise<PoolUse[]>;
  /** The claims that wait for any rule, for one, or for one key of it, in order. */
  waiting(rule: string | undefined, key: string | undefined, most: number): Promise<WaitingLease[]>;
}

/**
 * The thread's run has its slots: it begins now, if it has not begun. False when it has ended, or there is no such run. May be
 * called any number of times. `stopped`: another run has taken its place, and the run is stopped instead.
 */
export type GrantSlots = (threadId: string, runId: string, created: number, stopped: boolean) => Promise<boolean>;

export function flowControl(env: Env, workspaceId: string): FlowRpc {
  return retryCalls(() => rpcProxy<FlowRpc>(objectNamed(env, env.LIMITER, workspaceId)));
}

// The rules of workspaces that this isolate has read. A run costs no call for them, and a rule that changes counts within the age.

/** Milliseconds for which an isolate trusts what it has read: docs/flow-control.md names the age. */
const KEPT_MS = 30_000;

const known = new RowCache<FlowRule[]>(undefined, KEPT_MS);

/** The rules of the workspace, as of some seconds ago at most. */
export async function knownRules(env: Env, workspaceId: string): Promise<FlowRule[]> {
  return known.get(workspaceId, async () => flowControl(env, workspaceId).rules());
}

/** The rules of the workspace where this isolate has just read them. */
export const peekRules = (workspaceId: string): FlowRule[] | undefined => known.peek(workspaceId);

/** Call this when a rule changes. */
export function forgetRules(workspaceId: string): void {
  known.forget(workspaceId);
}
