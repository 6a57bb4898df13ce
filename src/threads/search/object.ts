/** The Durable Object of one shard of a workspace's thread index. */
import {
  type ChangesAfter,
  type ThreadChange,
  type IndexRow,
  indexShard,
  type RowVersion,
  type ThreadFilter,
  type ThreadIndexRpc,
  type ThreadPage,
} from "./rpc.ts";
import { DurableObject } from "cloudflare:workers";
import { dispatchRpc, type RpcTarget } from "../../lib/rpc.ts";
import { remoteProblem } from "../../lib/problem.ts";
import { RESPONSE_LIMIT } from "../limits.ts";
import { IndexTables } from "./tables.ts";

// The latest changes of a shard's rows, for readers that follow them. Kept in memory: after a restart the list is
// empty.

/** How many changes are kept. A follower that lags further behind misses the older ones. */
const KEPT = 500;
/** Milliseconds that a follower waits in one call. */
const WAIT = 20_000;

export class Changes {
  /** Identifies this instance of the object. */
  readonly #life = crypto.randomUUID();
  #count = 0;
  /** Milliseconds since the epoch. */
  #changedAt: number | undefined;
  #latest: ThreadChange[] = [];
  #followers = new Set<() => void>();

  add(changes: ThreadChange[]): void {
    if (changes.length === 0) return;
    this.#count += changes.length;
    this.#changedAt = Date.now();
    this.#latest = [...this.#latest, ...changes].slice(-KEPT);
    for (const notify of this.#followers) notify();
    this.#followers.clear();
  }

  async after(position: string | undefined): Promise<ChangesAfter> {
    const seen = position === undefined ? this.#count : this.#seen(position);
    if (position !== undefined && seen === this.#count) await this.#next();
    const fresh = Math.min(this.#count - seen, this.#latest.length);
    return {
      position: `${this.#life}:${this.#count}`,
      changes: fresh === 0 ? [] : this.#latest.slice(-fresh),
      unchangedMs: this.#changedAt === undefined ? null : Date.now() - this.#changedAt,
    };
  }

  #seen(position: string): number {
    const [life, count] = position.split(":");
    return life === this.#life ? Number(count) : 0;
  }

  async #next(): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    await new Promise<void>((resolve) => {
      this.#followers.add(resolve);
      timer = setTimeout(() => {
        this.#followers.delete(resolve);
        resolve();
      }, WAIT);
    });
    clearTimeout(timer);
  }
}

/** Bytes after which new threads go to the next shard. An object holds 10 GB. */
const FULL = 5_000_000_000;
/**
 * The number of writes between two reads of the size: reading it costs as much as writing a row. A row may have 1 MB.
 */
const LOOK_EVERY = 500;
/** Rows that one reading takes: a row may have 1 MB. */
const AT_ONCE = 50;

export class ThreadIndex extends DurableObject<Env> implements ThreadIndexRpc, RpcTarget {
  readonly #tables: IndexTables;
  readonly #workspaceId: string;
  readonly #shard: number;
  /** Rows of the next transaction. */
  #waiting: IndexRow[] = [];
  /** The next transaction, which waits for the one before. */
  #pending: Promise<Set<string>> | undefined;
  /** Settles with the ids of the rows that the transaction did not write. */
  #latest: Promise<Set<string>> = Promise.resolve(new Set());
  #full = false;
  /** Writes until the size is read again. */
  #unseen = 0;
  readonly #changes = new Changes();

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#tables = new IndexTables(ctx.storage);
    const [workspaceId = "", shard] = (ctx.id.name ?? "").split(":");
    this.#workspaceId = workspaceId;
    this.#shard = Number(shard);
  }

  async dispatch(method: string, args: unknown[]): Promise<unknown> {
    return dispatchRpc(this, method, args);
  }

  async put(row: IndexRow): Promise<number> {
    this.#waiting.push(row);
    // Rows that come while others are being written share the next transaction, and its failure.
    this.#latest = this.#pending ??= this.#write(this.#latest);
    const refused = await this.#latest;
    if (refused.has(row.id)) throw remoteProblem(409, "The index has a newer row of this thread.");
    return this.#next();
  }

  async remove(rows: Parameters<ThreadIndexRpc["remove"]>[0]): Promise<void> {
    const removed = rows.filter(({ id, revision }) => {
      if (revision === undefined) this.#waiting = this.#waiting.filter((row) => row.id !== id);
      return this.#tables.remove(id, revision);
    });
    this.#changes.add(removed.map(({ id }) => ({ id, status: null, at: Date.now() })));
  }

  async search(page: ThreadPage): Promise<IndexRow[]> {
    const ids = this.#tables.page(page);
    const found: IndexRow[] = [];
    let size = 0;
    for (let first = 0; first < ids.length; first += AT_ONCE) {
      const rows = this.#tables.rows(ids.slice(first, first + AT_ONCE));
      size += rows.reduce((sum, row) => sum + JSON.stringify(row).length, 0);
      if (size > RESPONSE_LIMIT)
        throw remoteProblem(413, "These threads are too large for one answer. Request fewer of them with limit.");
      found.push(...rows);
    }
    return found;
  }

  async ids(filter: ThreadFilter, limit: number, offset: number): Promise<RowVersion[]> {
    return this.#tables.ids(filter, limit, offset);
  }

  async count(filter: ThreadFilter): Promise<number> {
    return this.#tables.count(filter);
  }

  async countByStatus(): Promise<Record<string, number>> {
    return this.#tables.countByStatus();
  }

  async changes(after: string | undefined): Promise<ChangesAfter> {
    return this.#changes.after(after);
  }

  async shards(): Promise<number> {
    return this.#tables.shards;
  }

  async grow(shards: number): Promise<void> {
    if (shards > (await this.shards())) this.#tables.shards = shards;
  }

  async #write(before: Promise<unknown>): Promise<Set<string>> {
    // The callers of a write get its error.
    await before.catch(() => undefined);
    const rows = this.#waiting;
    this.#waiting = [];
    this.#pending = undefined;
    if (rows.length === 0) return new Set();
    const { written, refused } = this.#tables.put(rows);
    await this.ctx.storage.sync();
    this.#changes.add(written.map(({ id, status, updatedAt }) => ({ id, status, at: updatedAt })));
    return refused;
  }

  /** The shard for new threads: this one until it is full, then the next one, which shard 0 must record first. */
  async #next(): Promise<number> {
    if (!this.#full && (this.#unseen -= 1) >= 0) return this.#shard;
    this.#unseen = LOOK_EVERY;
    if (this.#tables.size < FULL) return this.#shard;
    if (!this.#full) await indexShard(this.env, this.#workspaceId, 0).grow(this.#shard + 2);
    this.#full = true;
    return this.#shard + 1;
  }
}
