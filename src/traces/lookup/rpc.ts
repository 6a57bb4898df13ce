/** What the index of ids gives and takes over RPC: it says which days of which projects can hold a run, by an id alone. */
import { retryCalls } from "../../lib/retry.ts";
import { objectNamed, rpcProxy } from "../../lib/rpc.ts";
import type { Entries } from "./entries.ts";

export interface ProjectDay {
  projectId: string;
  /** UTC, YYYY-MM-DD. */
  day: string;
}

/** The ids of the runs, traces and parents that a project's day is about to hold, as `hashIds` gives them. */
export interface DayIds extends ProjectDay {
  hashes: Entries;
  /** The positions of ids whose root's post is among what is stored: they may begin again after their project was deleted. */
  begun: number[];
}

export interface RegisterAnswer {
  /** For each of the days, the positions of the hashes that only days of deleted projects have had so far. */
  deleted: number[][];
  /** The keys of the patches that wait for one of these ids: they are to be stored, and settled then. */
  awaited: string[];
}

export interface FoundDays {
  /** The days that `found` and `unread` name by position. */
  days: (ProjectDay & { isDeleted: boolean })[];
  /** For each hash, the days that have it. */
  found: number[][];
  /** The days whose runs are older than the index, and not in it yet. */
  unread: number[];
}

/** How many patches wait for their posts, and how many were given up. */
export interface PatchCounts {
  waiting: number;
  dropped: number;
}

export interface TraceIndexRpc {
  /**
   * Notes where runs will be, durably before it returns: to be called before they are stored, so that no run is stored without
   * its entry. An entry without its run does no harm.
   */
  register(days: DayIds[]): Promise<RegisterAnswer>;
  find(hashes: Entries): Promise<FoundDays>;
  /**
   * Lets the patch that R2 has under `key` wait until one of its ids is registered. `known`: one of them is, and the patch does not
   * wait, unless `isLast`. `full`: too many wait.
   */
  awaitRun(key: string, hashes: Entries, isLast: boolean): Promise<"waits" | "known" | "full">;
  /** Forgets patches that are stored with their runs, or dropped. */
  settle(keys: string[]): Promise<void>;
  /** Counts patches that were dropped without waiting. */
  countDropped(patches: number): Promise<void>;
  countPatches(): Promise<PatchCounts>;
  /** Keeps the ids of a deleted project as such: what comes late of them is dropped. */
  noteDeletedProject(projectId: string): Promise<void>;
}

/** The index of a workspace. Its calls may be carried out twice, so a restart of the object repeats them. */
export function traceIndex(env: Env, workspaceId: string): TraceIndexRpc {
  return retryCalls(() => rpcProxy<TraceIndexRpc>(objectNamed(env, env.TRACE_INDEX, workspaceId)));
}
