/** Counts rows and alarms of Durable Objects, and queries of D1, on the prototypes that the platform's own objects have. */
import { startActivity, alarms, count, Cursors, type ObjectClass, work } from "./counts.ts";

type Method = (this: object, ...args: never[]) => unknown;

/** Replaces a method of an object's prototype, once. `around` gets the object, the original's result and its arguments. */
function wrap(object: object, name: string, around: (self: object, result: unknown, args: unknown[]) => unknown): void {
  const prototype = Object.getPrototypeOf(object) as Record<string, Method & { counts?: true }>;
  const original = prototype[name];
  if (!original) throw new Error(`This version of workerd has no ${name}: the counting Worker must be adapted.`);
  if (original.counts) return;
  const runCounted: Method & { counts?: true } = function runCounted(...args) {
    return around(this, original.apply(this, args), args);
  };
  runCounted.counts = true;
  prototype[name] = runCounted;
}

/** Which class and object a storage, its SQL or a state belongs to. */
const owners = new WeakMap<object, { of: ObjectClass; id: string; cursors: Cursors }>();

/** Counts what this object does with its storage. Gives the state back, for the call of `super`. */
export function countStorage(ctx: DurableObjectState, of: ObjectClass): DurableObjectState {
  const owner = { of, id: ctx.id.toString(), cursors: new Cursors(of) };
  for (const part of [ctx, ctx.storage, ctx.storage.sql]) owners.set(part, owner);
  wrap(ctx.storage.sql, "exec", (sql, cursor) => {
    owners.get(sql)?.cursors.add(cursor as SqlStorageCursor<never>);
    return cursor;
  });
  wrap(ctx.storage, "setAlarm", (storage, result, [at]) => {
    const known = owners.get(storage);
    if (known) {
      count(`alarms set: ${known.of}`);
      alarms.set(known.id, Number(at));
    }
    return result;
  });
  for (const name of ["deleteAlarm", "deleteAll"])
    wrap(ctx.storage, name, (storage, result) => {
      alarms.delete(owners.get(storage)?.id ?? "");
      return result;
    });
  wrap(ctx, "waitUntil", (state, result, [later]) => {
    const known = owners.get(state);
    if (known)
      void work(Promise.resolve(later))
        .catch(() => undefined)
        .finally(startActivity(known.of, known.id));
    return result;
  });
  return ctx;
}

interface Answer {
  meta?: { rows_read?: number; rows_written?: number };
}

/**
 * D1's client sends every statement through one method of its sessions: `_send`, or `_queryOrThrow` with `d1_binding_jsrpc`. A batch is
 * one call with many answers.
 */
export function countQueries(db: D1Database): void {
  for (const name of ["_send", "_queryOrThrow"])
    wrap(db.withSession(), name, (_session, sent) => {
      count("subrequests");
      return (sent as Promise<Answer | Answer[]>).then((answered) => {
        for (const { meta } of [answered].flat()) {
          count("D1 queries");
          count("D1 rows read", meta?.rows_read ?? 0);
          count("D1 rows written", meta?.rows_written ?? 0);
        }
        return answered;
      });
    });
}
