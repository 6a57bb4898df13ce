/**
 * The rows of a thread's runs. How the last run ended is in the thread's own row, which the end of a run writes anyway: the row of that run
 * gets it when the next run ends.
 */
import type { LongTextValue } from "./long-text.ts";
import { type RunRow, withMember, type Statements } from "./statements.ts";

/** Rows that one statement reads. */
const AT_ONCE = 20;
/** Characters of an outcome that the thread's row holds: each change of the thread writes them again. */
const MAX_HELD_RUNS = 20_000;
/** The status of a row in SQL. Bound to it: the run of which the thread's row says the end, and its status. */
const STATUS = "CASE WHEN run_id = ? AND status IN ('pending', 'running') THEN ? ELSE status END";

export interface StoredEnding {
  run_id: string;
  status: string;
  outcome: string;
}

export class RunStore {
  /** Undefined: not read. */
  #ended: StoredEnding | null | undefined;

  /** `read`: gives the ending that the thread's row holds. */
  constructor(
    private readonly sql: Statements,
    private readonly read: () => StoredEnding | undefined,
  ) {}

  /** The run, also by the id of a request that has joined it. */
  get(runId: string): RunRow | undefined {
    const find = (id: string) => this.#select("SELECT * FROM runs WHERE run_id = ?", id)[0];
    const found = find(runId);
    if (found) return found;
    const [join] = this.sql.all<{ joined: string }>("SELECT joined FROM joins WHERE run_id = ?", runId);
    return join && find(join.joined);
  }

  /** The ids of the requests that have joined the run. */
  joinsOf(runId: string): string[] {
    return this.sql
      .all<{ run_id: string }>("SELECT run_id FROM joins WHERE joined = ?", runId)
      .map((row) => row.run_id);
  }

  /** A request with the id `runId` has joined the run. */
  join(runId: string, joined: string): void {
    this.sql.insert("joins", { run_id: runId, joined }, "replace");
  }

  /** `row.fingerprint`: that of the request, not hashed. */
  insert({ fingerprint, ...row }: RunRow): void {
    const request = this.sql.texts.store(row.request, "runs.request", row.run_id);
    const print = fingerprint == null ? null : this.sql.texts.hash(fingerprint);
    this.sql.insert("runs", { ...row, fingerprint: print, request, outcome: this.#outcome(row.run_id, row.outcome) });
  }

  /** The runs whose requests have this fingerprint, newest first. */
  withFingerprint(fingerprint: string): RunRow[] {
    const sql = "SELECT * FROM runs WHERE fingerprint = ? ORDER BY created DESC, run_id DESC";
    return this.#select(sql, this.sql.texts.hash(fingerprint));
  }

  set(runId: string, status: string, outcome: string | null): void {
    this.sql.update("runs", { run_id: runId }, { status, outcome: this.#outcome(runId, outcome) });
  }

  /** What the run was given, once it has been read from what was sent. */
  setRequest(runId: string, request: string): void {
    this.sql.update("runs", { run_id: runId }, { request: this.sql.texts.store(request, "runs.request", runId) });
  }

  /** The run has ended. The thread's row is written in the same transaction after this call. */
  end(runId: string, status: string, outcome: string): void {
    const before = this.#ending();
    if (before) this.set(before.run_id, before.status, before.outcome);
    this.#ended = null;
    if (outcome.length <= MAX_HELD_RUNS) this.#ended = { run_id: runId, status, outcome };
    else this.set(runId, status, outcome);
  }

  /** The thread's row (a JSON object) with the end of the last run. */
  withEnding(record: string): string {
    const ended = this.#ending();
    return ended ? withMember(record, "ended", JSON.stringify(ended)) : record;
  }

  /** The ending that the thread's row holds when its object wakes. */
  foundEnding(ended: StoredEnding | undefined): void {
    this.#ended = ended ?? null;
  }

  /** Newest first, read a few at a time: a request may have megabytes. */
  *list(limit: number, offset: number, status?: string): Generator<RunRow, void, void> {
    const where = status === undefined ? "" : `WHERE ${STATUS} = ?`;
    const sql = `SELECT * FROM runs ${where} ORDER BY created DESC, run_id DESC LIMIT ? OFFSET ?`;
    for (let read = 0; read < limit; read += AT_ONCE) {
      const most = Math.min(AT_ONCE, limit - read);
      const filter = status === undefined ? [] : [...this.#bound(), status];
      const rows = this.#select(sql, ...filter, most, offset + read);
      yield* rows;
      if (rows.length < most) return;
    }
  }

  /** The ids of runs that were made after this time, milliseconds. */
  idsSince(time: number): string[] {
    return this.sql.all<{ run_id: string }>("SELECT run_id FROM runs WHERE created > ?", time).map((row) => row.run_id);
  }

  /** Pending and running, in the order they will run. */
  open(): RunRow[] {
    const sql = `SELECT * FROM runs WHERE ${STATUS} IN ('pending', 'running') ORDER BY created, run_id`;
    return this.#select(sql, ...this.#bound());
  }

  /** True when the thread's row holds the end of this run: it must be written again, because a new run may take the id. */
  remove(runId: string): boolean {
    this.sql.remove("runs", { run_id: runId });
    this.sql.remove("joins", { joined: runId });
    const isHeld = this.#ending()?.run_id === runId;
    if (isHeld) this.#ended = null;
    return isHeld;
  }

  /** Clears the cached facts about the rows: they are read again. */
  forget(): void {
    this.#ended = undefined;
  }

  #ending(): StoredEnding | null {
    if (this.#ended === undefined) this.#ended = this.read() ?? null;
    return this.#ended;
  }

  #bound(): [LongTextValue, LongTextValue] {
    const ended = this.#ending();
    return [ended?.run_id ?? null, ended?.status ?? null];
  }

  #select(statement: string, ...params: LongTextValue[]): RunRow[] {
    const { texts } = this.sql;
    const ended = this.#ending();
    return this.sql.all<RunRow>(statement, ...params).map((row) => {
      const request = texts.load(row.request, "runs.request", row.run_id);
      const isOpen = row.status === "pending" || row.status === "running";
      if (isOpen && row.run_id === ended?.run_id) return { ...row, request, ...ended };
      return { ...row, request, outcome: row.outcome && texts.load(row.outcome, "runs.outcome", row.run_id) };
    });
  }

  #outcome(runId: string, outcome: string | null): string | null {
    return outcome && this.sql.texts.store(outcome, "runs.outcome", runId);
  }
}
