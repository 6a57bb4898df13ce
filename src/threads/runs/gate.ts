/**
 * The slots of the run whose turn it is on this thread (docs/flow-control.md). A run without rules passes. Another one begins when
 * the workspace's limiter says so: as the answer to this thread's claim, or later by `ThreadRpc.grant`.
 */
import { deployedRules } from "../../limits/flow/rule.ts";
import { flowBy, isLimited, pickFacts } from "../../limits/flow/run-flow.ts";
import { knownRules, peekRules, type AcquireResult, flowControl, type NewSlotLease } from "../../limits/flow/rpc.ts";
import { logError } from "../../lib/log.ts";
import type { ThreadContext } from "../context.ts";
import { type RunRecord, takesSlots } from "../run.ts";
import { collectFacts } from "./insert.ts";
import type { Run } from "../types.ts";

/** Milliseconds until the thread claims again: after an error, when no more may wait, and while its claim waits. */
const AGAIN_MS = { failed: 4_000, full: 30_000, waits: 600_000 };

type State = "asking" | "waits" | "granted" | "failed";

export class SlotGate {
  #runId: string | undefined;
  #state: State = "failed";
  /** When the thread claims again. */
  #again = 0;

  /** `settled`: called when the limiter has answered. */
  constructor(
    private readonly context: ThreadContext,
    private readonly settled: () => void,
  ) {}

  /** Whether the run may begin. Claims its slots when it may not. */
  opens(run: RunRecord): boolean {
    // A run that has begun has its slots until it ends.
    if (run.status === "running") return true;
    if (this.#runId !== run.id) this.#become(run.id, "failed", 0);
    if (this.#state === "granted") return true;
    if (this.#state === "asking" || this.#again > Date.now()) return false;
    const rules = takesSlots(run) ? undefined : peekRules(this.context.workspaceId);
    if (rules && !isLimited(deployedRules, rules, collectFacts(this.context.threadId, run.request))) return true;
    this.context.ctx.waitUntil(this.#ask(run));
    return false;
  }

  /** The run has its slots. */
  grant(runId: string): void {
    this.#become(runId, "granted", 0);
  }

  /** The run has ended: an answer that is on its way is not for it. */
  leave(runId: string): void {
    if (this.#runId === runId) this.#runId = undefined;
  }

  /** When the thread claims again for a run that waits for the limiter's call. Undefined when it waits for none. */
  waitsUntil(run: RunRecord | undefined): number | undefined {
    const waits = run?.status === "pending" && run.id === this.#runId && this.#state === "waits";
    return waits ? this.#again : undefined;
  }

  /** Runs of the thread; the one that waits for slots with its place. */
  async placed<R extends Pick<Run, "run_id">>(waiting: RunRecord | undefined, runs: R[]): Promise<R[]> {
    const runId = waiting?.id;
    if (this.waitsUntil(waiting) === undefined || !runs.some(({ run_id }) => run_id === runId)) return runs;
    const { env, workspaceId, threadId } = this.context;
    try {
      const position = await flowControl(env, workspaceId).position(runId as string);
      return runs.map((run) => (run.run_id === runId ? { ...run, ...position } : run));
    } catch (error) {
      logError(error, { thread: threadId, while: "reading the place of a run that waits" });
      return runs;
    }
  }

  async #ask(run: RunRecord): Promise<void> {
    const { threadId } = this.context;
    const { id: runId } = run;
    this.#become(runId, "asking", 0);
    try {
      const answer = await this.#claim(run);
      if (this.#isAsking(runId)) {
        if (answer === "granted") this.grant(runId);
        else this.#become(runId, "waits", Date.now() + AGAIN_MS[answer]);
      }
    } catch (error) {
      logError(error, { thread: threadId, while: "claiming the slots of a run" });
      if (this.#isAsking(runId)) this.#become(runId, "failed", Date.now() + AGAIN_MS.failed);
    }
    if (!this.context.gone) this.settled();
  }

  /** Claims the run's slots, by the rules of the moment. A run without rules has some to claim where a rule is newer than the run. */
  async #claim(run: RunRecord): Promise<AcquireResult> {
    const { env, workspaceId, threadId } = this.context;
    const facts = collectFacts(threadId, run.request);
    const rules = await knownRules(env, workspaceId);
    if (!takesSlots(run)) {
      if (!isLimited(deployedRules, rules, facts) || !this.#isAsking(run.id)) return "granted";
      this.#keepClaimed(run);
    }
    const { id: runId, created, due } = run;
    const claim = { flow: flowBy(deployedRules, facts), facts: pickFacts(facts, rules) };
    const lease: NewSlotLease = { runId, threadId, created, due, claim };
    return flowControl(env, workspaceId).acquire(lease);
  }

  /** Stores that the run claims, so that its end gives back what it gets. */
  #keepClaimed(run: RunRecord): void {
    const { eventLog, tables } = this.context;
    const outcome = { ...run.outcome, claimed: true as const };
    eventLog.commit(() => eventLog.due(() => tables.runs.set(run.id, run.status, JSON.stringify(outcome))));
    run.outcome = outcome;
  }

  /** The run may have ended, or got its slots, while its claim was on its way. */
  #isAsking(runId: string): boolean {
    return this.#runId === runId && this.#state === "asking";
  }

  #become(runId: string, state: State, again: number): void {
    this.#runId = runId;
    this.#state = state;
    this.#again = again;
  }
}
