/** Packs the state of a killed server into a fixture, unpacks it, and adjusts its clocks and addresses. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { gzipSync } from "node:zlib";
import type { Manifest } from "./manifest.ts";

const FOLDER = join(import.meta.dirname, "fixtures");
/** The parts of the state that a fixture contains. Caches and rate limits are left out. */
const KEPT = ["d1", "do", "r2", "queues", "workflows"];

/** The folders of D1 and of a class of Durable Objects below a folder of state. */
export const d1Folder = (state: string): string => join(state, "v3", "d1", "miniflare-D1DatabaseObject");
export const objectFolder = (state: string, className: string): string => join(state, "v3", "do", `weir-${className}`);

/** The SQLite files of a folder, without `metadata.sqlite`, which holds the alarms. */
export function databases(folder: string): string[] {
  const names = readdirSync(folder).filter((name) => name.endsWith(".sqlite") && name !== "metadata.sqlite");
  return names.map((name) => join(folder, name));
}

/** Opens a SQLite file of a stopped server. A killed process can hold its lock for a short time. */
export function withDatabase<T>(file: string, work: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(file, { timeout: 10_000 });
  try {
    return work(database);
  } finally {
    database.close();
  }
}

/** The fixtures in the folder, oldest first. */
export function fixtures(): Manifest[] {
  const files = readdirSync(FOLDER).filter((name) => name.endsWith(".json"));
  const all = files.map((name) => JSON.parse(readFileSync(join(FOLDER, name), "utf8")) as Manifest);
  return all.sort((a, b) => a.made_at.localeCompare(b.made_at));
}

/** Packs the state of a stopped server and writes the manifest. Returns the size of the archive in bytes. */
export function pack(state: string, manifest: Manifest): number {
  for (const entry of readdirSync(state, { recursive: true, withFileTypes: true })) {
    if (entry.name.endsWith(".sqlite")) checkpoint(join(entry.parentPath, entry.name));
  }
  const kept = KEPT.filter((name) => readdirSync(join(state, "v3")).includes(name)).map((name) => `v3/${name}`);
  const archive = gzipSync(tar(["-cf", "-", "-C", state, ...kept]), { level: 9 });
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(join(FOLDER, `${manifest.name}.tar.gz`), archive);
  writeFileSync(join(FOLDER, `${manifest.name}.json`), `${JSON.stringify(manifest, null, 1)}\n`);
  return archive.byteLength;
}

/** Moves the write-ahead log into the file. */
function checkpoint(file: string): void {
  const result = withDatabase(file, (database) => database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get());
  if (result?.busy !== 0) throw new Error(`${file} is in use.`);
  // SQLite does not remove these files while the killed process has the database open.
  for (const suffix of ["-wal", "-shm"]) rmSync(file + suffix, { force: true });
}

/** Unpacks a fixture into a new folder, which the caller removes. */
export function unpack({ name }: Manifest): string {
  const state = mkdtempSync(join(tmpdir(), "weir-"));
  tar(["-xzf", join(FOLDER, `${name}.tar.gz`), "-C", state]);
  return state;
}

/** The addresses of the server that opens the state, and of the receiver of webhooks and push notifications. */
interface Present {
  to: string;
  receiver: string;
}

/** Runs the statements in `prepare` of the manifest on unpacked state. */
export function prepare(state: string, manifest: Manifest, present: Present): void {
  const { made_at, url: from } = manifest;
  const { d1, thread } = manifest.prepare;
  const shift = Date.now() - Date.parse(made_at);
  const run = (file: string, statements: string[]) =>
    withDatabase(file, (database) => {
      for (const sql of statements) {
        // An object has the tables that it has needed so far.
        const [, table = ""] = /^UPDATE (\w+)/.exec(sql) ?? [];
        if (!database.prepare("SELECT 1 FROM sqlite_master WHERE name = ?").get(table)) continue;
        const values = Object.entries({ shift, from, ...present }).filter(([name]) => sql.includes(`:${name}`));
        database.prepare(sql).run(Object.fromEntries(values));
      }
    });
  for (const file of databases(d1Folder(state))) run(file, d1);
  for (const file of databases(objectFolder(state, "Thread"))) run(file, thread);
}

export function remove(state: string): void {
  rmSync(state, { recursive: true, force: true });
}

function tar(args: string[]): Buffer {
  const { status, stdout, stderr } = spawnSync("tar", args, { maxBuffer: 1024 ** 3 });
  if (status !== 0) throw new Error(`tar ${args.join(" ")}: ${stderr.toString()}`);
  return stdout;
}
