/**
 * The index of ids of a workspace: which days of which projects can hold a run or a trace. Ingest registers the ids before it
 * stores the runs, so what was acknowledged is found, however many projects and days there are.
 */
import { DurableObject } from "cloudflare:workers";
import { database } from "../../db/client.ts";
import { logError } from "../../lib/log.ts";
import {
  NEWER_ALARM_MS,
  newerFormat,
  ObjectTables,
  readMeta,
  type TableSchema,
  writeMeta,
} from "../../lib/object-tables.ts";
import { dispatchRpc, type RpcTarget } from "../../lib/rpc.ts";
import { listAllDays, listShardsOfDays } from "../projects/partitions.ts";
import { tracePartition } from "../stub.ts";
import { eachHash, type Entries, hashIds, hashKey, MAX_DAYS, withDay } from "./entries.ts";
import type { DayIds, FoundDays, PatchCounts, ProjectDay, RegisterAnswer, TraceIndexRpc } from "./rpc.ts";
import { SEGMENT_TABLES, Segments, toBlob } from "./segments.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** How exact `days.touched` is, milliseconds: a busy day costs a row an hour. */
const TOUCH_MS = HOUR_MS;
/** How long the ids of deleted projects are kept, milliseconds: SDKs keep what they could not send for days. */
const DELETED_MS = 30 * DAY_MS;
/** How long a patch waits for its post, milliseconds. */
export const WAIT_MS = HOUR_MS;
/** The most patches that wait in a workspace. */
const MAX_WAITING = 10_000;
/** R2 deletes this many objects in one call. */
const BLOBS_AT_ONCE = 1_000;
/** Ids of one reading of a partition. */
const IDS_AT_ONCE = 10_000;
/** How long one alarm reads partitions, milliseconds. */
const READING_MS = 20_000;

/** `unread`: the day is older than the index, and its runs are read by the alarm. */
type DayState = "known" | "unread" | "deleted";

const INDEX_SCHEMA: TableSchema = {
  kind: "traces",
  steps: [
    `CREATE TABLE days (
       n INTEGER PRIMARY KEY,
       project_id TEXT NOT NULL,
       day TEXT NOT NULL,
       state TEXT NOT NULL,
       -- When runs of it were registered last, or when its project was deleted, milliseconds (TOUCH_MS).
       touched INTEGER NOT NULL
     );
     CREATE UNIQUE INDEX days_day ON days (project_id, day);
     CREATE TABLE waiting (key TEXT PRIMARY KEY, hashes BLOB NOT NULL, due INTEGER NOT NULL) WITHOUT ROWID;
     ${SEGMENT_TABLES}`,
  ],
};

interface DayRow extends Record<string, SqlStorageValue> {
  n: number;
  project_id: string;
  day: string;
  state: DayState;
  touched: number;
}

export class TraceIndex extends DurableObject<Env> implements TraceIndexRpc, RpcTarget {
  private readonly tables: ObjectTables;
  private readonly segments: Segments;
  private beginning: Promise<void> | undefined;
  /** The keys of waiting patches, by the hashes of their ids. Undefined until they are read. */
  private awaited: Map<number, Set<string>> | undefined;
  private hasDeleted: boolean | undefined;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.tables = new ObjectTables(ctx.storage, INDEX_SCHEMA);
    this.segments = new Segments(
      this.sql,
      () =>
        new Set(
          this.sql
            .exec<{ n: number }>("SELECT n FROM days")
            .toArray()
            .map(({ n }) => n),
        ),
    );
  }

  async dispatch(method: string, args: unknown[]): Promise<unknown> {
    return dispatchRpc(this, method, args);
  }

  async register(days: DayIds[]): Promise<RegisterAnswer> {
    await this.begin();
    return this.write(() => {
      const deleted = days.map(({ hashes }) => this.deletedAmong(hashes));
      for (const [at, { hashes, begun, ...day }] of days.entries()) {
        // What is late is dropped by the caller. An id that had a day here would no longer be late.
        const late = new Set(deleted[at]?.filter((place) => !begun.includes(place)));
        const kept = late.size === 0 ? hashes : hashes.filter((_, place) => !late.has(place));
        this.segments.add(withDay(kept, this.dayNumber(day)));
      }
      return { deleted, awaited: this.awaitedBy(days) };
    });
  }

  async find(hashes: Entries): Promise<FoundDays> {
    await this.begin();
    if (!this.tables.made) return { days: [], found: [...hashes].map(() => []), unread: [] };
    const found = this.segments.find([...eachHash(hashes)]);
    const numbers = new Set(found.flatMap((days) => [...days]));
    const rows = this.sql
      .exec<DayRow>(
        "SELECT * FROM days WHERE n IN (SELECT value FROM json_each(?)) OR state = 'unread'",
        JSON.stringify([...numbers]),
      )
      .toArray();
    const places = new Map(rows.map(({ n }, at) => [n, at]));
    return {
      days: rows.map(({ project_id, day, state }) => ({ projectId: project_id, day, isDeleted: state === "deleted" })),
      found: found.map((days) => [...days].flatMap((n) => places.get(n) ?? [])),
      unread: rows.flatMap(({ state }, at) => (state === "unread" ? [at] : [])),
    };
  }

  async awaitRun(key: string, hashes: Entries, isLast: boolean): Promise<"waits" | "known" | "full"> {
    await this.begin();
    const due = Date.now() + WAIT_MS;
    const taken = this.write(() => {
      if (!isLast && this.knowsAny(hashes)) return "known";
      if (this.countWaiting() >= MAX_WAITING) return "full";
      this.sql.exec("INSERT OR REPLACE INTO waiting (key, hashes, due) VALUES (?, ?, ?)", key, toBlob(hashes), due);
      return "waits";
    });
    this.awaited = undefined;
    await this.alarmBy(due);
    return taken;
  }

  async settle(keys: string[]): Promise<void> {
    if (!this.tables.made) return;
    this.sql.exec("DELETE FROM waiting WHERE key IN (SELECT value FROM json_each(?))", JSON.stringify(keys));
    this.awaited = undefined;
  }

  async countPatches(): Promise<PatchCounts> {
    if (!this.tables.made) return { waiting: 0, dropped: 0 };
    return { waiting: this.countWaiting(), dropped: this.dropped };
  }

  async countDropped(patches: number): Promise<void> {
    if (this.tables.made) writeMeta(this.sql, "dropped", this.dropped + patches);
  }

  async noteDeletedProject(projectId: string): Promise<void> {
    await this.begin();
    if (!this.tables.made) return;
    this.sql.exec("UPDATE days SET state = 'deleted', touched = ? WHERE project_id = ?", Date.now(), projectId);
    this.hasDeleted = undefined;
  }

  /** Gives patches up whose posts did not come, reads days that are older than the index, and forgets days that are gone. */
  override async alarm(): Promise<void> {
    if (this.tables.isNewer) return this.ctx.storage.setAlarm(Date.now() + NEWER_ALARM_MS);
    if (!this.tables.made) return;
    try {
      await this.dropPatches();
      await this.readDays();
      if (Date.now() >= this.swept + DAY_MS) await this.sweep();
    } catch (error) {
      logError(error, { workspace: this.workspaceId, while: "the alarm of an index of traces" });
      return this.ctx.storage.setAlarm(Date.now() + 60_000);
    }
    if (!this.tables.made) return;
    const { due } = this.sql.exec<{ due: number | null }>("SELECT min(due) AS due FROM waiting").one();
    const next = this.nextUnread() ? Date.now() + 1_000 : this.swept + DAY_MS;
    await this.ctx.storage.setAlarm(Math.max(Date.now(), Math.min(next, due ?? Infinity)));
  }

  // The first call makes the tables, and notes the days that are there already.

  private async begin(): Promise<void> {
    if (this.tables.isNewer) throw newerFormat();
    if (this.tables.made) return;
    await (this.beginning ??= this.make().finally(() => (this.beginning = undefined)));
  }

  private async make(): Promise<void> {
    const days = await listAllDays(database(this.env.DB), this.workspaceId);
    this.write(() => {
      this.noteDays(days);
      writeMeta(this.sql, "swept", Date.now());
    });
    await this.alarmBy(Date.now() + (days.length > 0 ? 1_000 : DAY_MS));
  }

  private write<T>(work: () => T): T {
    try {
      return this.tables.write(work);
    } catch (error) {
      this.segments.forget();
      throw error;
    }
  }

  private noteDays(days: ProjectDay[]): void {
    this.sql.exec(
      `INSERT INTO days (project_id, day, state, touched)
       SELECT value ->> 0, value ->> 1, 'unread', ? FROM json_each(?) WHERE true ON CONFLICT DO NOTHING`,
      Date.now(),
      JSON.stringify(days.map(({ projectId, day }) => [projectId, day])),
    );
  }

  private dayNumber({ projectId, day }: ProjectDay): number {
    const now = Date.now();
    const [row] = this.sql
      .exec<DayRow>("SELECT * FROM days WHERE project_id = ? AND day = ?", projectId, day)
      .toArray();
    if (row) {
      if (row.state !== "deleted" && row.touched < now - TOUCH_MS)
        this.sql.exec("UPDATE days SET touched = ? WHERE n = ?", now, row.n);
      return row.n;
    }
    const { n } = this.sql
      .exec<{ n: number }>(
        "INSERT INTO days (project_id, day, state, touched) VALUES (?, ?, 'known', ?) RETURNING n",
        projectId,
        day,
        now,
      )
      .one();
    if (n >= MAX_DAYS) throw new Error("The index of traces has no number left for a project's day.");
    return n;
  }

  /** The positions of the hashes that days of deleted projects have, and no others. */
  private deletedAmong(hashes: Entries): number[] {
    this.hasDeleted ??= this.sql.exec("SELECT 1 FROM days WHERE state = 'deleted' LIMIT 1").toArray().length > 0;
    if (!this.hasDeleted) return [];
    const found = this.segments.find([...eachHash(hashes)]);
    const numbers = JSON.stringify([...new Set(found.flatMap((days) => [...days]))]);
    const rows = this.sql.exec<DayRow>("SELECT * FROM days WHERE n IN (SELECT value FROM json_each(?))", numbers);
    const states = new Map(rows.toArray().map(({ n, state }) => [n, state]));
    return found.flatMap((days, at) => {
      const known = [...days].flatMap((n) => states.get(n) ?? []);
      return known.length > 0 && known.every((state) => state === "deleted") ? [at] : [];
    });
  }

  // Patches that wait for their posts.

  private knowsAny(hashes: Entries): boolean {
    const numbers = this.segments.find([...eachHash(hashes)]).flatMap((days) => [...days]);
    const known = this.sql.exec(
      "SELECT 1 FROM days WHERE state <> 'deleted' AND n IN (SELECT value FROM json_each(?)) LIMIT 1",
      JSON.stringify(numbers),
    );
    return known.toArray().length > 0;
  }

  private countWaiting(): number {
    return this.sql.exec<{ count: number }>("SELECT count(*) AS count FROM waiting").one().count;
  }

  private get dropped(): number {
    return (readMeta(this.sql, "dropped") as number | undefined) ?? 0;
  }

  private awaitedBy(days: DayIds[]): string[] {
    this.awaited ??= this.readWaiting();
    if (this.awaited.size === 0) return [];
    const keys = new Set<string>();
    for (const { hashes } of days)
      for (const hash of eachHash(hashes)) for (const key of this.awaited.get(hashKey(hash)) ?? []) keys.add(key);
    return [...keys];
  }

  private readWaiting(): Map<number, Set<string>> {
    const waiting = new Map<number, Set<string>>();
    for (const { key, hashes } of this.sql.exec<{ key: string; hashes: ArrayBuffer }>(
      "SELECT key, hashes FROM waiting",
    )) {
      for (const hash of eachHash(new BigUint64Array(hashes))) {
        const keys = waiting.get(hashKey(hash)) ?? new Set();
        waiting.set(hashKey(hash), keys.add(key));
      }
    }
    return waiting;
  }

  private async dropPatches(): Promise<void> {
    for (;;) {
      const rows = this.sql.exec<{ key: string }>(
        `SELECT key FROM waiting WHERE due <= ? LIMIT ${BLOBS_AT_ONCE}`,
        Date.now(),
      );
      const keys = rows.toArray().map(({ key }) => key);
      if (keys.length === 0) return;
      await this.env.BLOBS.delete(keys);
      this.write(() => {
        const gone = this.sql.exec(
          "DELETE FROM waiting WHERE key IN (SELECT value FROM json_each(?)) RETURNING 1",
          JSON.stringify(keys),
        );
        writeMeta(this.sql, "dropped", this.dropped + gone.toArray().length);
      });
      this.awaited = undefined;
      logError("Patches are dropped: their posts did not come.", { workspace: this.workspaceId, patches: keys.length });
    }
  }

  // Days that are older than the index, and days that are gone.

  private nextUnread(): DayRow | undefined {
    return this.sql.exec<DayRow>("SELECT * FROM days WHERE state = 'unread' LIMIT 1").toArray()[0];
  }

  private async readDays(): Promise<void> {
    const end = Date.now() + READING_MS;
    for (let row = this.nextUnread(); row && Date.now() < end; row = this.nextUnread()) {
      const { n, project_id: projectId, day } = row;
      const shards = await listShardsOfDays(database(this.env.DB), this.workspaceId, [{ projectId, day }]);
      for (const shard of shards) {
        for (let after: number | null = 0; after !== null;) {
          const page: { ids: string[]; next: number | null } = await tracePartition(
            this.env,
            this.workspaceId,
            shard,
          ).listIds(after, IDS_AT_ONCE);
          this.write(() => this.segments.add(withDay(hashIds(page.ids), n)));
          after = page.next;
        }
      }
      this.sql.exec("UPDATE days SET state = 'known' WHERE n = ? AND state = 'unread'", n);
    }
  }

  private get swept(): number {
    return readMeta(this.sql, "swept") as number;
  }

  /** A day is gone when it has no partition, which ingest makes soon after it has registered the runs. */
  private async sweep(): Promise<void> {
    const days = await listAllDays(database(this.env.DB), this.workspaceId);
    const isEmpty = this.write(() => {
      this.noteDays(days);
      const known = new Set(days.map(({ projectId, day }) => `${projectId}/${day}`));
      const now = Date.now();
      for (const { n, project_id, day, state, touched } of this.sql.exec<DayRow>("SELECT * FROM days").toArray()) {
        const kept = state === "deleted" ? DELETED_MS : 2 * TOUCH_MS;
        if (!known.has(`${project_id}/${day}`) && touched < now - kept)
          this.sql.exec("DELETE FROM days WHERE n = ?", n);
      }
      this.segments.deleteDead();
      writeMeta(this.sql, "swept", now);
      this.hasDeleted = undefined;
      return this.countWaiting() === 0 && this.sql.exec("SELECT 1 FROM days LIMIT 1").toArray().length === 0;
    });
    if (!isEmpty) return;
    const deleted = this.ctx.storage.deleteAll();
    this.tables.refresh();
    this.segments.forget();
    await deleted;
  }

  private async alarmBy(time: number): Promise<void> {
    const set = await this.ctx.storage.getAlarm();
    if (set === null || set > time) await this.ctx.storage.setAlarm(time);
  }

  private get sql(): SqlStorage {
    return this.ctx.storage.sql;
  }

  private get workspaceId(): string {
    return this.ctx.id.name ?? "";
  }
}
