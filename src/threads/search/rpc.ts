/** What the rest of Weir may ask of a workspace's thread index, and how to reach its shards. */
import { objectNamed, rpcProxy } from "../../lib/rpc.ts";
import { retryCalls } from "../../lib/retry.ts";
import type { Json } from "../../lib/json.ts";
import type { ThreadStatus } from "../types.ts";

/**
 * What can be searched of a thread: a projection of its own record, written after its commits and repaired by its next
 * write. Never read as the truth about one thread.
 */
export interface IndexRow {
  id: string;
  status: string;
  /** Whether the thread has a run that has not ended, also one that is not due yet. */
  open: boolean;
  metadata: Json;
  config: Json;
  /** The state when it is small. Null when it is large: it is then read from the thread itself. */
  values: Json | null;
  hasValues: boolean;
  interrupts: Json;
  error: Json | null;
  /** Milliseconds since the epoch. */
  createdAt: number;
  updatedAt: number;
  stateUpdatedAt: number;
  /** Grows with each projection of one thread, so that a late write never covers a newer one. */
  revision: number;
}

export type RowVersion = Pick<IndexRow, "id" | "revision">;

export type SortBy = "thread_id" | "status" | "created_at" | "updated_at" | "state_updated_at";

export interface ThreadFilter {
  ids?: string[];
  metadata?: Json;
  values?: Json;
  status?: ThreadStatus;
  open?: true;
  /** Interrupted, or with an open run. */
  unfinished?: true;
  /** Only ids behind this one. */
  after?: string;
  /** Words, each of which must be in the thread's title or in the text of one of its messages. */
  query?: string[];
}

export interface ThreadPage extends ThreadFilter {
  limit: number;
  offset: number;
  sortBy: SortBy;
  sortOrder: "asc" | "desc";
}

/** A change of a thread's row. */
export interface ThreadChange {
  id: string;
  /** Null: the thread is deleted. */
  status: string | null;
  /** Milliseconds since the epoch. */
  at: number;
}

export interface ChangesAfter {
  /** Where the next call continues. */
  position: string;
  changes: ThreadChange[];
  /** Milliseconds since the last change. Null when there is none since this object started. */
  unchangedMs: number | null;
}

/** One shard. Shard 0 knows how many there are. */
export interface ThreadIndexRpc {
  /**
   * Writes the row. 409 when a newer one is there: the clock of the thread's machine may be behind that of the one before. The
   * thread writes its row again until it is the newest. Returns the shard that new threads go to from now on.
   */
  put(row: IndexRow): Promise<number>;
  /** Removes rows; those with a `revision` only while it is the row's. */
  remove(rows: (Pick<RowVersion, "id"> & Partial<RowVersion>)[]): Promise<void>;
  /** 413 when the rows together are larger than one answer. */
  search(page: ThreadPage): Promise<IndexRow[]>;
  /** In the order of the ids. */
  ids(filter: ThreadFilter, limit: number, offset: number): Promise<RowVersion[]>;
  count(filter: ThreadFilter): Promise<number>;
  countByStatus(): Promise<Record<string, number>>;
  /**
   * The changes after a position, as soon as there is one; none after 20 seconds. `after` undefined: the position of now. A
   * position that this object does not know, since it has restarted, gives the changes since its start.
   */
  changes(after: string | undefined): Promise<ChangesAfter>;
  /** How many shards there are. */
  shards(): Promise<number>;
  /** Records that there are at least this many shards. */
  grow(shards: number): Promise<void>;
}

/** A shard of the workspace's index. Its calls may be carried out twice, so a restart of the object repeats them. */
export function indexShard(env: Env, workspaceId: string, shard: number): ThreadIndexRpc {
  return retryCalls(() => rpcProxy<ThreadIndexRpc>(objectNamed(env, env.THREAD_INDEX, `${workspaceId}:${shard}`)));
}
