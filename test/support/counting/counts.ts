/** What the counting Worker has counted since its isolate started. Names are those of `Meter`. */

/** What the platform bills or limits. "Thread" and "TracePartition" are classes of Durable Objects. */
export type Meter =
  | "requests"
  | "subrequests"
  | "logs"
  | "D1 queries"
  | "D1 rows read"
  | "D1 rows written"
  | "R2 class A"
  | "R2 class B"
  | "queue operations"
  | `${ObjectMeter}: ${ObjectClass}`;

export type ObjectClass = "Thread" | "TracePartition";
/** "active" is seconds during which a call, a stream, an alarm or a `waitUntil` of an object is open, summed over objects. */
type ObjectMeter = "calls" | "rows read" | "rows written" | "alarms set" | "alarms run" | "active";

export type Counts = Partial<Record<Meter, number>>;

const counted: Counts = {};

export function count(meter: Meter, amount = 1): void {
  counted[meter] = (counted[meter] ?? 0) + amount;
}

interface Cursor {
  readonly rowsRead: number;
  readonly rowsWritten: number;
}

/** Cursors whose rows are not added yet: a SELECT reads its rows after `exec` has returned. */
let cursors: { cursor: Cursor; of: ObjectClass }[] = [];

export function countRows(cursor: Cursor, of: ObjectClass): void {
  cursors.push({ cursor, of });
  if (cursors.length > 1_000) addRows();
}

function addRows(): void {
  for (const { cursor, of } of cursors) {
    count(`rows read: ${of}`, cursor.rowsRead);
    count(`rows written: ${of}`, cursor.rowsWritten);
  }
  cursors = [];
}

interface Activity {
  open: number;
  since: number;
}

const activities = new Map<string, Activity>();

/** The object is active until the function returned is called. Calls at the same time count once. */
export function active(of: ObjectClass, id: string): () => void {
  const activity = activities.get(id) ?? { open: 0, since: 0 };
  activities.set(id, activity);
  if (activity.open === 0) activity.since = Date.now();
  activity.open += 1;
  let over = false;
  return () => {
    if (over) return;
    over = true;
    activity.open -= 1;
    if (activity.open === 0) count(`active: ${of}`, (Date.now() - activity.since) / 1000);
  };
}

export function snapshot(): Counts {
  addRows();
  return { ...counted };
}
