/** The client of D1, and how many calls of D1 one invocation makes. */
import { drizzle } from "drizzle-orm/d1";

const openDatabase = (binding: D1Database) => drizzle(binding);

export type Database = ReturnType<typeof openDatabase>;

/** One client for each binding. */
const opened = new WeakMap<D1Database, Database>();

export function database(binding: D1Database): Database {
  const known = opened.get(binding);
  if (known) return known;
  const fresh = openDatabase(binding);
  opened.set(binding, fresh);
  return fresh;
}

// What one invocation of the Worker asks of D1. Cloudflare refuses the calls of an invocation beyond 1,000.

/**
 * The calls after which an invocation begins nothing new: what has begun needs some more, and so do the other tasks of the
 * cron trigger.
 */
const MAX_CALLS = 500;

export interface Allowance {
  /** The bindings, with a database whose calls are counted. */
  env: Env;
  /** Whether nothing new may begin. */
  isSpent: () => boolean;
}

/** Counts the calls of one invocation. Each statement of a batch counts as one. */
export function countCalls(env: Env, most = MAX_CALLS): Allowance {
  let calls = 0;
  const DB = new Proxy(env.DB, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      return (...args: unknown[]): unknown => {
        if (name === "prepare") calls += 1;
        return Reflect.apply(member, target, args);
      };
    },
  });
  return { env: { ...env, DB }, isSpent: () => calls >= most };
}
