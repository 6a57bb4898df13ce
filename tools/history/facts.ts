/** A history sorted by what the rules look for. */
import { AUDITOR, type History, type Kind, type Of, type Operation, type Start } from "./record.ts";

export interface Violation {
  rule: string;
  thread: string;
  run?: string;
  message: string;
  operations: Operation[];
}

/** A run that the server has accepted. */
export interface RunFacts {
  id: string;
  thread: string;
  /** The requests that led to it: several under one Idempotency-Key. Empty when only a list shows it. */
  starts: Start[];
  text?: string;
  /** When it was requested first; when the server had it, and when it had ended, at the latest. */
  requested: number;
  accepted: number;
  ended: number;
  /** Requests that may have removed it from the thread. */
  rollbacks: Operation[];
  deletions: Operation[];
  /** Its status at rest; undefined when the thread does not have it then. */
  atRest?: string;
}

export const isFinal = (status: string): boolean => status !== "pending" && status !== "running";

/** Whether `a` was complete before `b` began. */
export const isBefore = (a: Operation, b: Operation): boolean => a.until < b.at;

export class Facts {
  readonly history: History;
  readonly threads: string[];
  readonly runs = new Map<string, RunFacts>();
  readonly #byKind = new Map<Kind, Operation[]>();

  constructor(history: History) {
    this.history = history;
    for (const operation of history.operations) {
      const known = this.#byKind.get(operation.kind);
      if (known) known.push(operation);
      else this.#byKind.set(operation.kind, [operation]);
    }
    for (const list of this.#byKind.values()) list.sort((a, b) => a.at - b.at);
    this.threads = this.listOperations("create thread").map(({ thread }) => thread);
    this.#gatherRuns();
  }

  /** The operations of one kind in the order of their begin, also of one thread only. */
  listOperations<K extends Kind>(kind: K, thread?: string): Of<K>[] {
    const all = (this.#byKind.get(kind) ?? []) as Of<K>[];
    return thread === undefined ? all : all.filter((one) => one.thread === thread);
  }

  /** Those that were answered. */
  listAnswered<K extends Kind>(kind: K, thread?: string): Of<K>[] {
    return this.listOperations(kind, thread).filter(({ outcome }) => outcome === "ok");
  }

  /** The last of this kind that the auditor saw of a thread at rest. */
  findAtRest<K extends Kind>(kind: K, thread: string): Of<K> | undefined {
    return this.listAnswered(kind, thread).findLast(({ client }) => client === AUDITOR);
  }

  listRuns(thread: string): RunFacts[] {
    return [...this.runs.values()].filter((run) => run.thread === thread);
  }

  /** The run with this text. */
  findRun(text: string): RunFacts | undefined {
    return [...this.runs.values()].find((run) => run.text === text);
  }

  /** Whether a rollback or a deletion may have removed the messages of this text before `moment`. */
  canVanish(text: string, moment: number): boolean {
    const run = this.findRun(text);
    if (run) return canBeGone(run, moment);
    // A client that gave up does not know its run, and no list shows a run that was rolled back.
    const unknown = this.listOperations("start").filter((start) => start.text === text && start.outcome === "unknown");
    return unknown.some(({ thread, at }) =>
      this.#findRollbacks({ id: "", thread, requested: at, ended: Infinity }).some((rollback) => rollback.at < moment),
    );
  }

  #gatherRuns(): void {
    for (const start of this.listOperations("start")) {
      if (start.run === undefined) continue;
      const run = this.#run(start.run, start.thread, start.until);
      run.starts.push(start);
      run.text = start.text;
      run.accepted = Math.min(run.accepted, start.until);
    }
    for (const list of this.listAnswered("runs"))
      for (const { run: id, text } of list.runs) {
        const run = this.#run(id, list.thread, list.until);
        run.text ??= text;
        // A command that answers a question does not name its run.
        if (run.starts.length === 0)
          run.starts.push(...this.listOperations("start").filter((one) => one.text === text));
      }
    this.#noteEnds();
    for (const run of this.runs.values()) {
      run.requested = Math.min(...run.starts.map(({ at }) => at));
      if (run.starts.length === 0) run.requested = 0;
      run.rollbacks = this.#findRollbacks(run);
      run.deletions = this.listOperations("delete run").filter(
        (one) => one.run === run.id && one.outcome !== "refused",
      );
      run.atRest = this.findAtRest("runs", run.thread)?.runs.find((one) => one.run === run.id)?.status;
    }
  }

  #run(id: string, thread: string, accepted: number): RunFacts {
    const known = this.runs.get(id);
    if (known) return known;
    const run: RunFacts = {
      id,
      thread,
      starts: [],
      requested: 0,
      accepted,
      ended: Infinity,
      rollbacks: [],
      deletions: [],
    };
    this.runs.set(id, run);
    return run;
  }

  /** The first operation that shows a run's end says when it had ended. */
  #noteEnds(): void {
    const end = (id: string | undefined, until: number) => {
      const run = id === undefined ? undefined : this.runs.get(id);
      if (run) run.ended = Math.min(run.ended, until);
    };
    for (const { run, values, until } of this.listAnswered("start")) if (values) end(run, until);
    for (const { run, until } of this.listAnswered("join")) end(run, until);
    for (const { run, ended, until } of this.listAnswered("read")) if (ended) end(run, until);
    for (const { seen, until } of this.listAnswered("run")) if (seen && isFinal(seen.status)) end(seen.run, until);
    for (const { runs, until } of this.listAnswered("runs"))
      for (const { run, status } of runs) if (isFinal(status)) end(run, until);
  }

  /** A cancellation or a new run rolls back what is open: not what had ended before, or was requested later. */
  #findRollbacks({
    id,
    thread,
    requested,
    ended,
  }: Pick<RunFacts, "id" | "thread" | "requested" | "ended">): Operation[] {
    const cancels = this.listOperations("cancel", thread).filter(
      (one) => one.run === id && one.action === "rollback" && one.at < ended,
    );
    const starts = this.listOperations("start", thread).filter(
      (one) => one.run !== id && one.strategy === "rollback" && one.at < ended && one.until > requested,
    );
    return [...cancels, ...starts].filter(({ outcome }) => outcome !== "refused");
  }
}

/** Whether a rollback or a deletion may have removed the run, and what it wrote, before `moment`. */
export const canBeGone = ({ rollbacks, deletions }: RunFacts, moment: number): boolean =>
  [...rollbacks, ...deletions].some(({ at }) => at < moment);
