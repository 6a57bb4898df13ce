/** Exact after a deletion: no row of D1 or of an object, and no key or object in R2, names what was deleted. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";

/** Tables that may name what was deleted, and why. */
const ALLOWED: Record<string, string> = {
  trace_deletions: "It says what was deleted and when: manifests of exports list it.",
  audit_log: "It says who did what.",
  bulk_exports: "An export that was made before keeps its project.",
  export_runs: "An export that was made before keeps its project.",
  "object deleted": "Late writes of these ids are dropped.",
  "object doomed": "Objects in R2 that leave within ten minutes.",
};

interface Where {
  /** Objects to look into. */
  objects?: DurableObjectStub[];
  /** Prefixes of keys in R2. */
  prefixes?: string[];
  /** Tables that may name it in this case, too. */
  allowed?: string[];
}

/** Where one of the ids is still named, as texts. */
export async function findLeftovers(
  ids: readonly string[],
  { objects = [], prefixes = [], allowed = [] }: Where,
): Promise<string[]> {
  const isAllowed = (place: string) => place in ALLOWED || allowed.includes(place);
  const found = await searchDatabase(ids, isAllowed);
  for (const object of objects)
    found.push(...(await runInDurableObject(object, (_, { storage }) => searchObject(storage.sql, ids, isAllowed))));
  for (const prefix of prefixes) found.push(...(await searchBucket(ids, prefix)));
  return [...new Set(found)].sort();
}

/** The condition that any column of the table `t` has any of the ids, which are its one parameter. */
const naming = (columns: readonly string[]) =>
  columns.map((name) => `instr(CAST(t."${name}" AS TEXT), j.value) > 0`).join(" OR ");

async function searchDatabase(ids: readonly string[], isAllowed: (place: string) => boolean): Promise<string[]> {
  const tables = await env.DB.prepare(
    `SELECT m.name AS name, json_group_array(c.name) AS columns FROM sqlite_master m, pragma_table_info(m.name) c
     WHERE m.type = 'table' AND m.sql NOT LIKE 'CREATE VIRTUAL%' AND m.name NOT LIKE '\\_cf%' ESCAPE '\\' GROUP BY m.name`,
  ).all<{ name: string; columns: string }>();
  const found: string[] = [];
  for (const { name, columns } of tables.results.filter((table) => !isAllowed(table.name))) {
    const rows = await env.DB.prepare(
      `SELECT DISTINCT j.value AS id FROM json_each(?) j, "${name}" t WHERE ${naming(JSON.parse(columns) as string[])} LIMIT 5`,
    )
      .bind(JSON.stringify(ids))
      .all<{ id: string }>();
    found.push(...rows.results.map(({ id }) => `D1 ${name} names ${id}`));
  }
  return found;
}

function searchObject(sql: SqlStorage, ids: readonly string[], isAllowed: (place: string) => boolean): string[] {
  const tables = sql
    .exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, 3) != '_cf'")
    .toArray();
  return tables.flatMap(({ name }) => {
    if (isAllowed(`object ${name}`)) return [];
    const columns = sql.exec<{ name: string }>(`SELECT name FROM pragma_table_info(?)`, name).toArray();
    const rows = sql.exec<{ id: string }>(
      `SELECT DISTINCT j.value AS id FROM json_each(?) j, "${name}" t WHERE ${naming(columns.map((one) => one.name))} LIMIT 5`,
      JSON.stringify(ids),
    );
    return rows.toArray().map(({ id }) => `an object's ${name} names ${id}`);
  });
}

async function searchBucket(ids: readonly string[], prefix: string): Promise<string[]> {
  const { objects } = await env.BLOBS.list({ prefix });
  const found = await Promise.all(
    objects.map(async ({ key }) => {
      const text = (await (await env.BLOBS.get(key))?.text()) ?? "";
      return ids.flatMap((id) => (key.includes(id) || text.includes(id) ? [`R2 ${key} names ${id}`] : []));
    }),
  );
  return found.flat();
}
