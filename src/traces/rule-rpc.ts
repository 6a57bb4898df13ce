/** The RPC methods of a partition that rules use. The partition stores which runs a rule has taken, so this is deleted with the runs. */

/** Which runs are looked at: those that changed after a time, or those of a window of start_time, microseconds. */
export type RuleReach = { since: number } | { startTime: number; endTime: number };

/** The part of a `RunSelection` that rules have. */
export interface RuleFilters {
  filter?: string;
  traceFilter?: string;
  treeFilter?: string;
  traceElsewhere?: string[];
  treeElsewhere?: string[];
}

export interface TakeRequest {
  /** The id of the rule. A run is taken once by each id. */
  rule: string;
  /** The name of the reading: how far it has come is stored under it. */
  reading: string;
  reach: RuleReach;
  selection: RuleFilters;
  /** The part of the runs that is taken, from 0 to 1. */
  rate: number;
  /** At most this many runs. */
  limit: number;
  /** A run that is not settled for this time is given again, milliseconds. */
  lease: number;
}

/** A run that a rule is to work on. */
export interface TakenRun {
  id: string;
  /** How often it was given, this time included. */
  attempt: number;
  /** How many actions of the rule are done. */
  step: number;
}

export interface Taken {
  runs: TakenRun[];
  /** Others can be taken now. */
  more: boolean;
  /** The number of the last change that the reading has seen (partition/changes.ts). */
  change: number;
  counts: RuleCounts;
}

/** What became of a run: it is over, or to be given again. */
export interface Settled {
  id: string;
  state: "done" | "failed" | "due";
  /** How many actions of the rule are done. */
  step: number;
  /** US dollars. */
  cost: number;
  /** Of `due`: after how many milliseconds; 0: before the runs that are new, and the attempt does not count. */
  wait?: number;
}

/** Runs that a rule has taken: those that wait, due first, or those that are done, newest first. */
export interface RuleRunsRequest {
  rule: string;
  state: "due" | "done";
  limit: number;
}

export interface RuleRunState {
  id: string;
  attempts: number;
  /** How many actions of the rule are done. */
  step: number;
  /** When it may be worked on, milliseconds: while a worker has it, when that is given up. Null: it is done. */
  due: number | null;
}

/** What a rule did with the runs of a partition, also with those that were deleted since. */
export interface RuleCounts {
  taken: number;
  done: number;
  failed: number;
  /** US dollars. */
  cost: number;
}
