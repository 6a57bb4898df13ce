/** What the counting Worker has counted since its isolate started. Names are those of `Meter`. */

/** What the platform bills or limits. "Thread", "ThreadIndex", "TraceIndex" and "TracePartition" are classes of Durable Objects. */
export type Meter =
  | "requests"
  | "batches"
  | "subrequests"
  | "log lines"
  | "socket messages"
  | "D1 queries"
  | "D1 rows read"
  | "D1 rows written"
  | "R2 class A"
  | "R2 class B"
  | "queue operations"
  | `${ObjectMeter}: ${ObjectClass}`;

export type ObjectClass = "Ledger" | "Limiter" | "Thread" | "ThreadIndex" | "TraceIndex" | "TracePartition";
/** "active" is seconds during which a call, a stream, an alarm or a `waitUntil` of an object is open, summed over objects. */
export type ObjectMeter = "calls" | "rows read" | "rows written" | "alarms set" | "alarms run" | "active";

export type Counts = Partial<Record<Meter, number>>;

const counted: Counts = {};

export function count(meter: Meter, amount = 1): void {
  counted[meter] = (counted[meter] ?? 0) + amount;
}

interface Cursor {
  readonly rowsRead: number;
  readonly rowsWritten: number;
}

/** Cursors of one object that may still read rows: how many is known after each look. */
export class Cursors {
  private open: { cursor: Cursor; read: number; written: number }[] = [];

  private readonly of: ObjectClass;

  constructor(of: ObjectClass) {
    this.of = of;
  }

  /**
   * A SELECT reads its rows after `exec` has returned, most often immediately. Only the object itself can read a
   * cursor.
   */
  add(cursor: Cursor): void {
    this.look();
    this.open = [...this.open.slice(-7), { cursor, read: 0, written: 0 }];
    queueMicrotask(() => this.look());
  }

  private look(): void {
    for (const seen of this.open) {
      const { rowsRead, rowsWritten } = seen.cursor;
      count(`rows read: ${this.of}`, rowsRead - seen.read);
      count(`rows written: ${this.of}`, rowsWritten - seen.written);
      [seen.read, seen.written] = [rowsRead, rowsWritten];
    }
  }
}

interface Activity {
  of: ObjectClass;
  open: number;
  since: number;
}

/** When the alarm of each object that has one is due. */
export const alarms = new Map<string, number>();

/** Calls, alarms and work after them that objects have not ended. A stream that is open is none. */
let working = 0;

/** Counts as work until it settles. */
export async function work<T>(doing: Promise<T>): Promise<T> {
  working += 1;
  try {
    return await doing;
  } finally {
    working -= 1;
  }
}

const activities = new Map<string, Activity>();

/** The object is active until the function returned is called. Calls at the same time count once. */
export function startActivity(of: ObjectClass, id: string): () => void {
  const activity = activities.get(id) ?? { of, open: 0, since: 0 };
  activities.set(id, activity);
  if (activity.open === 0) activity.since = Date.now();
  activity.open += 1;
  let over = false;
  return () => {
    if (over) return;
    over = true;
    activity.open -= 1;
    if (activity.open === 0) activities.delete(id);
    if (activity.open === 0) count(`active: ${of}`, (Date.now() - activity.since) / 1000);
  };
}

export interface Snapshot {
  counts: Counts;
  /** An object works, or has an alarm in the next milliseconds. */
  isBusy: boolean;
}

/** The counts now, with the seconds so far of what is still active. `soon`: milliseconds. */
export function snapshot(soon: number): Snapshot {
  const now: Counts = { ...counted };
  for (const { of, since } of activities.values()) {
    now[`active: ${of}`] = (now[`active: ${of}`] ?? 0) + (Date.now() - since) / 1000;
  }
  const next = Math.min(...alarms.values());
  return { counts: now, isBusy: working > 0 || next <= Date.now() + soon };
}
