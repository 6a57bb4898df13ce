/** Commits of the SQLite databases in a server's state, read from their write-ahead logs: no tracer is needed. */
import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";

/** Whose database it is. Miniflare keeps the alarms of a class beside its objects, so an alarm set is a commit of its own. */
export const DATABASES = [
  "thread",
  "thread alarms",
  "thread index",
  "trace partition",
  "trace alarms",
  "D1",
  "other",
] as const;
export type Database = (typeof DATABASES)[number];

const HEADER = 32;
const FRAME_HEADER = 24;

/** Commits in a log: frames of its present generation that end a transaction. */
interface Log {
  generation: string;
  commits: number;
}

function readLog(file: string): Log {
  const bytes = readBytes(file);
  if (bytes.length < HEADER) return { generation: "", commits: 0 };
  const pageSize = bytes.readUInt32BE(8);
  // The two salts: a log that restarts has other salts, and frames of the previous log may follow its own.
  const generation = bytes.toString("hex", 16, 24);
  let commits = 0;
  for (let at = HEADER; at + FRAME_HEADER + pageSize <= bytes.length; at += FRAME_HEADER + pageSize) {
    if (bytes.toString("hex", at + 8, at + 16) !== generation) break;
    if (bytes.readUInt32BE(at + 4) > 0) commits += 1;
  }
  return { generation, commits };
}

/** A log is deleted with its object, which may end at any time: then it is empty. */
function readBytes(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return Buffer.alloc(0);
  }
}

function nameDatabase(file: string): Database {
  const isThread = file.includes("-Thread/");
  if (isThread || file.includes("-TracePartition/")) {
    const alarms = basename(file).startsWith("metadata.");
    return isThread ? (alarms ? "thread alarms" : "thread") : alarms ? "trace alarms" : "trace partition";
  }
  if (file.includes("-ThreadIndex/")) return "thread index";
  return file.includes("/d1/") ? "D1" : "other";
}

export type Logs = Map<string, Log>;

/** The logs of all databases below the folder of a server's state. */
export function readLogs(persistTo: string): Logs {
  return new Map(globSync(join(persistTo, "v3", "**", "*.sqlite-wal")).map((file) => [file, readLog(file)]));
}

/** Commits between two looks. A log that restarted in between counts from its restart, so read it often. */
export function commitsBetween(before: Logs, after: Logs): Record<Database, number> {
  const commits = Object.fromEntries(DATABASES.map((database) => [database, 0])) as Record<Database, number>;
  for (const [file, log] of after) {
    const known = before.get(file);
    commits[nameDatabase(file)] += log.commits - (known?.generation === log.generation ? known.commits : 0);
  }
  return commits;
}
