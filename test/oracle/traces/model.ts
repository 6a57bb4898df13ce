/** The trace platform as arrays: what is stored after each request. docs/semantics.md#the-trace-platform has the same in words. */
import { type Feedback, Run, type Write } from "./run.ts";

const compareNewest = (a: Run, b: Run) => b.start - a.start || (a.id < b.id ? 1 : -1);

export class Project {
  tier: "longlived" | "shortlived" = "longlived";
  isHeld = false;
  isDeleted = false;
  readonly shared = new Set<string>();
  /** Traces that a rule keeps as long as those of a `longlived` project, with the days that know it. */
  readonly kept = new Map<string, Set<string>>();
  readonly #runs = new Map<string, Run>();
  #sorted: Run[] | undefined;
  readonly #feedback = new Map<string, Feedback>();
  /** Ids of deleted traces and their runs. What comes later of them is dropped. */
  readonly #deleted = new Set<string>();

  constructor(readonly name: string) {}

  /** Newest first. */
  get runs(): Run[] {
    return (this.#sorted ??= [...this.#runs.values()].sort(compareNewest));
  }

  /** Feedback on runs that are stored. Feedback that came before its run counts when the run is there. */
  get feedback(): Feedback[] {
    return [...this.#feedback.values()];
  }

  get traces(): string[] {
    return [...new Set(this.runs.map(({ traceId }) => traceId))];
  }

  take(writes: readonly Write[]): void {
    this.#sorted = undefined;
    for (const write of writes) {
      const run = this.#runs.get(write.id) ?? new Run(write.id);
      run.take(write);
      if (!this.isGone(run)) this.#runs.set(write.id, run);
    }
  }

  isGone(run: Run): boolean {
    return this.#deleted.has(run.id) || run.path.some((id) => this.#deleted.has(id));
  }

  /** False when the run's trace is deleted. */
  give(feedback: Feedback): boolean {
    if (this.#deleted.has(feedback.runId)) return false;
    this.#feedback.set(feedback.id, feedback);
    return true;
  }

  takeBack(feedback: string): void {
    this.#feedback.delete(feedback);
  }

  listFeedback(runId: string): Feedback[] {
    return this.feedback.filter((one) => one.runId === runId);
  }

  /** False on legal hold, where nothing is deleted. */
  deleteTraces(traces: readonly string[]): boolean {
    if (this.isHeld) return false;
    for (const trace of traces) {
      this.#deleted.add(trace);
      this.shared.delete(trace);
      this.kept.delete(trace);
      for (const run of this.runs.filter(({ traceId }) => traceId === trace)) {
        this.#deleted.add(run.id);
        this.#remove(run);
      }
    }
    return true;
  }

  deleteThread(thread: string): boolean {
    return this.deleteTraces(this.runs.flatMap(({ threadId, traceId }) => (threadId === thread ? [traceId] : [])));
  }

  /** The runs of a day leave at the end of its retention, but those of kept traces. What comes later is stored. */
  expire(day: string): void {
    if (this.isHeld) return;
    for (const run of this.runs.filter((one) => one.day === day)) {
      const days = this.kept.get(run.traceId);
      // A day asks that of the root when its own time is over.
      if (days) days.add(day);
      else this.#remove(run);
    }
  }

  readTier({ traceId, day }: Run): "longlived" | "shortlived" {
    return this.kept.get(traceId)?.has(day) ? "longlived" : this.tier;
  }

  delete(): boolean {
    if (this.isHeld) return false;
    this.isDeleted = true;
    this.#runs.clear();
    this.#sorted = undefined;
    this.#feedback.clear();
    this.shared.clear();
    this.kept.clear();
    return true;
  }

  #remove({ id }: Run): void {
    this.#runs.delete(id);
    this.#sorted = undefined;
    for (const { id: feedback } of this.listFeedback(id)) this.#feedback.delete(feedback);
  }

  findRoot({ traceId }: Run): Run | undefined {
    return this.#runs.get(traceId);
  }

  listTree({ traceId }: Run): Run[] {
    return this.runs.filter((run) => run.traceId === traceId);
  }
}
