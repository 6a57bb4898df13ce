/**
 * The tables of a Durable Object. Its first write makes them, so an object that holds nothing stores nothing. Each object keeps
 * the number of the format in which it was written last. A version that meets a higher number than its own has been rolled
 * back: the object answers 503 and changes nothing.
 */
import { remoteProblem } from "./problem.ts";

/**
 * Raise one with a change that the previous version cannot read or would damage. A table, column or field that the previous
 * version ignores needs no new number.
 */
export const FORMATS = { thread: 1, index: 1, partition: 1, traces: 1, limiter: 1, ledger: 1 } as const;

/** When an object that a newer version wrote looks again, milliseconds: its due work waits for that version. */
export const NEWER_ALARM_MS = 5 * 60_000;

/** 503. */
export function newerFormat(): Error {
  return remoteProblem(
    503,
    "A newer version of Weir wrote this data, and this version cannot read it. Nothing was changed. Deploy the newer version again.",
  );
}

export type ObjectVersion = {
  /** The format of the version that wrote the object last. */
  format: number;
  /** How many steps of its schema the tables have. */
  steps: number;
};

/** Where an object keeps its version: a table that exists once the object holds something, and the statements on it. */
interface VersionStatements {
  table: string;
  /** Gives an `ObjectVersion`. */
  select: string;
  /** Parameters: the format, the number of steps. */
  set: string;
}

export interface TableSchema {
  kind: keyof typeof FORMATS;
  /** The first makes the tables, each further one changes those that exist. Append; a released one is never edited. */
  steps: readonly string[];
  /** Left out: the table `meta`, which is made before the others. */
  version?: VersionStatements;
}

const MAKE_META = "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID";
const IN_META: VersionStatements = {
  table: "meta",
  select: "SELECT value ->> 'format' AS format, value ->> 'steps' AS steps FROM meta WHERE name = 'version'",
  set: "INSERT OR REPLACE INTO meta VALUES ('version', json_object('format', CAST(?1 AS INTEGER), 'steps', CAST(?2 AS INTEGER)))",
};

export class ObjectTables {
  /** Undefined: there are no tables. */
  #stored: ObjectVersion | undefined;
  readonly #version: VersionStatements;

  constructor(
    private readonly storage: Pick<DurableObjectStorage, "sql" | "transactionSync">,
    private readonly schema: TableSchema,
  ) {
    this.#version = schema.version ?? IN_META;
    this.refresh();
  }

  /** A newer version wrote the object. */
  get isNewer(): boolean {
    return (this.#stored?.format ?? 0) > FORMATS[this.schema.kind];
  }

  /** Whether there are tables. @throws 503 when a newer version made them. */
  get made(): boolean {
    if (this.isNewer) throw newerFormat();
    return this.#stored !== undefined;
  }

  /** What a row that holds the version holds when this version writes it. */
  get version(): ObjectVersion {
    const { kind, steps } = this.schema;
    return { format: FORMATS[kind], steps: Math.max(this.#stored?.steps ?? 0, steps.length) };
  }

  /** One transaction, which makes the tables if there are none. @throws 503 when a newer version made them. */
  write<T>(work: () => T): T {
    try {
      return this.storage.transactionSync(() => {
        this.make();
        return work();
      });
    } catch (error) {
      this.refresh();
      throw error;
    }
  }

  /** Makes the tables in the transaction of the caller, who calls `refresh` when it fails. */
  make(): void {
    if (this.made) return;
    if (!this.schema.version) this.storage.sql.exec(MAKE_META);
    this.#takeSteps(0);
  }

  /** Looks at the storage again, after the tables were deleted or a transaction failed. Tables of an older version get what they lack. */
  refresh(): void {
    const { sql } = this.storage;
    const isMade = sql.exec("SELECT 1 FROM sqlite_master WHERE name = ?", this.#version.table).toArray().length > 0;
    this.#stored = isMade ? sql.exec<ObjectVersion>(this.#version.select).one() : undefined;
    const stored = this.#stored;
    if (!stored || this.isNewer) return;
    if (stored.format < this.version.format || stored.steps < this.version.steps)
      this.storage.transactionSync(() => this.#takeSteps(stored.steps));
  }

  #takeSteps(done: number): void {
    const { version } = this;
    for (const step of this.schema.steps.slice(done)) this.storage.sql.exec(step);
    this.storage.sql.exec(this.#version.set, version.format, version.steps);
    this.#stored = version;
  }
}

/** A value of the table `meta`. */
export function readMeta(sql: SqlStorage, name: string): unknown {
  const [row] = sql.exec<{ value: string }>("SELECT value FROM meta WHERE name = ?", name).toArray();
  return row && JSON.parse(row.value);
}

export function writeMeta(sql: SqlStorage, name: string, value: unknown): void {
  sql.exec("INSERT OR REPLACE INTO meta VALUES (?, ?)", name, JSON.stringify(value));
}
