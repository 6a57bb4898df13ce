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
