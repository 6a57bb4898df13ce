/** D1 migrations of a deployment: which ones the database has, and whether it is newer than this package. */
import type { Account } from "./account.ts";
import { Fault } from "../fault.ts";

/** The migrations that the database has, as Wrangler records them. */
async function appliedMigrations(account: Account, databaseId: string): Promise<string[]> {
  const rows = async (sql: string) => {
    const answers = await account.call<{ results: { name: string }[] }[]>("POST", `/d1/database/${databaseId}/query`, {
      sql,
    });
    return (answers[0]?.results ?? []).map(({ name }) => name);
  };
  const [table] = await rows("SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'd1_migrations'");
  return table ? rows("SELECT name FROM d1_migrations ORDER BY id") : [];
}

/**
 * The migrations that the database lacks.
 *
 * @throws Fault when the database has migrations that are unknown to this package: an older Worker must not run on it.
 */
export async function pendingMigrations(account: Account, databaseId: string, packaged: string[]): Promise<string[]> {
  const applied = await appliedMigrations(account, databaseId);
  const unknown = applied.filter((name) => !packaged.includes(name));
  if (unknown.length > 0) {
    throw new Fault(
      `The database is newer than this version of weir: it has ${unknown.join(", ")}. ` +
        "Install the version that made it, or a newer one.",
    );
  }
  return packaged.filter((name) => !applied.includes(name));
}
