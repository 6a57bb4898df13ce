/** Reads the layout of SQLite files, to compare migrated state with new state. */
import type { DatabaseSync } from "node:sqlite";
import { withDatabase } from "../fixture.ts";

/** Indexes of trace partitions with runs, which an upgrade keeps as they are: others would cost a row for each run. */
const KEPT = new Set(["runs_change", "runs_start", "runs_trace"]);

/** Columns by table, and the SQL of indexes and triggers. */
type Layout = Record<string, string[]>;

function layout(database: DatabaseSync): Layout {
  const objects = database.prepare("SELECT type, name, sql FROM sqlite_master ORDER BY name").all();
  const own = objects.filter(({ name }) => !/^(_cf_|__miniflare|sqlite_)/.test(String(name)));
  return Object.fromEntries(
    own.map(({ type, name, sql }) => {
      if (KEPT.has(String(name))) return [String(name), [String(name)]];
      if (type !== "table") return [String(name), [String(sql)]];
      const columns = database.prepare("SELECT name, type FROM pragma_table_info(?) ORDER BY name").all(String(name));
      return [String(name), columns.map((column) => `${String(column.name)} ${String(column.type)}`)];
    }),
  );
}

export const readLayout = (file: string): Layout => withDatabase(file, layout);

/** The name of the Durable Object in a file; undefined when the object has deleted everything. */
export function readName(file: string): string | undefined {
  return withDatabase(file, (database) => {
    const named = database.prepare("SELECT 1 FROM sqlite_master WHERE name = '__miniflare_do_name'").get();
    return named && String(database.prepare("SELECT name FROM __miniflare_do_name").get()?.name);
  });
}

/** False for a trace partition that the older release made when it searched for the runs of a day without runs. */
export function isUsed(file: string): boolean {
  return withDatabase(file, (database) => {
    const names = database.prepare("SELECT name FROM sqlite_master WHERE name = 'meta'").all();
    return names.length === 0 || database.prepare("SELECT 1 FROM meta LIMIT 1").get() !== undefined;
  });
}
