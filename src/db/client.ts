import { drizzle } from "drizzle-orm/d1";
import * as schema from "./schema.ts";

const openDatabase = (binding: D1Database) => drizzle(binding, { schema });

export type Database = ReturnType<typeof openDatabase>;

/** Drizzle builds the relations of all tables each time it is opened, so each binding is opened once. */
const opened = new WeakMap<D1Database, Database>();

export function database(binding: D1Database): Database {
  const known = opened.get(binding);
  if (known) return known;
  const fresh = openDatabase(binding);
  opened.set(binding, fresh);
  return fresh;
}
