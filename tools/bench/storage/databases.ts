/** The SQLite databases in the state of a server that has ended. */
import { globSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

export interface Kept {
  objects: number;
  /** Objects whose database has a table. */
  holding: number;
  /** What `databaseSize` of these says: pages times their size. */
  bytes: number;
  /** All files, logs included. */
  files: number;
}

/** The databases of a class of Durable Objects, without those in which Miniflare keeps the alarms of the class. */
export function listFiles(persistTo: string, objectClass: "Thread" | "TracePartition"): string[] {
  return globSync(join(persistTo, "v3", "do", `*-${objectClass}`, "[0-9a-f]*.sqlite"));
}

export function measureKept(files: string[]): Kept {
  const kept: Kept = { objects: files.length, holding: 0, bytes: 0, files: 0 };
  for (const file of files) {
    kept.files += globSync(`${file}*`).reduce((sum, one) => sum + statSync(one).size, 0);
    const { tables, size } = read(
      file,
      "SELECT (SELECT count(*) FROM sqlite_master) AS tables, page_count * page_size AS size FROM pragma_page_count, pragma_page_size",
    );
    if (!tables) continue;
    kept.holding += 1;
    kept.bytes += size ?? 0;
  }
  return kept;
}

/** Rows of the index of threads in D1. */
export function indexedThreads(persistTo: string): number {
  const [file = ""] = globSync(join(persistTo, "v3", "d1", "*", "[0-9a-f]*.sqlite"));
  return read(file, "SELECT count(*) AS threads FROM threads").threads ?? 0;
}

function read(file: string, query: string): Record<string, number> {
  const database = new DatabaseSync(file);
  try {
    return database.prepare(query).get() as Record<string, number>;
  } finally {
    database.close();
  }
}
