/** Errors of the past, and others like them, as textual changes of `src`: the oracle must find each. */
import type { Case } from "./dimensions.ts";

/** Values of which a case must have one, by dimension. */
type Among<C> = { [D in keyof C]?: readonly C[D][] };

interface Patch {
  file: string;
  find: string;
  replace: string;
}

export interface Mutation<C = Record<string, string>> {
  name: string;
  /** The cases of the pairs that can show it. The others are left out, because a run of all takes minutes. */
  among: Among<C>;
  patches: Patch[];
}

const THREADS = "src/threads";

/** A change of one place. */
const createMutation = (
  name: string,
  among: Among<Case>,
  file: string,
  find: string,
  replace: string,
): Mutation<Case> => ({
  name,
  among,
  patches: [{ file: `${THREADS}/${file}`, find, replace }],
});

/** Changes of several places. */
const createMutations = (
  name: string,
  among: Among<Case>,
  ...patches: [file: string, find: string, replace: string][]
): Mutation<Case> => ({
  name,
  among,
  patches: patches.map(([file, find, replace]) => ({ file: `${THREADS}/${file}`, find, replace })),
});

export const MUTATIONS: Mutation<Case>[] = [
  createMutation(
    "a run begins without its slots",
    { slots: ["taken"] },
    "runs/gate.ts",
    'if (run.status === "running") return true;',
    "if (run.status) return true;",
  ),
  createMutation(
    "the slots of a run are not given back at its end",
    { slots: ["free", "taken"] },
    "tasks/side-effects.ts",
    "if (takesSlots(run)) queueSlots(context, run, tracer);",
    "if (takesSlots(run) && run.outcome.attempt > 9) queueSlots(context, run, tracer);",
  ),
  createMutation(
    "the limiter's call begins no run",
    { slots: ["taken"] },
    "runs/runner.ts",
    "this.#gate.grant(runId);\n      this.#continue();",
    "this.#gate.grant(runId);",
  ),
  createMutation(
    "a run that is not due makes its thread busy",
    { kind: ["delayed"] },
    "runs/runner.ts",
    "return this.#open.some((run) => isInFlight(run, now));",
    "return this.#open.length > 0 && now > 0;",
  ),
  createMutation(
    "a run that is not due blocks those after it",
    { kind: ["delayed"] },
    "runs/queue.ts",
    "place(a) - place(b) || a.created - b.created",
    "a.created - b.created",
  ),
  createMutation(
    "keep_latest removes the checkpoints of nested graphs",
    { pause: ["nested"], lifecycle: ["prune", "ttl keep_latest"] },
    "checkpoints/checkpoints.ts",
    'return [latest, ...nested.filter(({ ns, metadata }) => !ns.includes(":") || metadata.parents?.[""] === latest.id)];',
    "return nested.length < 0 ? nested : [latest];",
  ),
  createMutations(
    "keep_latest removes what delta channels are replayed from",
    { values: ["delta"], lifecycle: ["prune", "ttl keep_latest"] },
    ["graph/prune.ts", "if (replayed.length === 0) return snapshots;", "if (replayed.length >= 0) return snapshots;"],
    [
      "checkpoints/checkpoints.ts",
      "new Map([...replayed, ...live].map(",
      "new Map([...replayed.slice(0, 0), ...live].map(",
    ],
  ),
  createMutation(
    "a cursor inside a compacted message gets the whole message again",
    { lifecycle: ["compaction", "ttl keep_latest"] },
    "log/tail.ts",
    "unfoldCuts(events, cursor, query.seen ?? 0)",
    "events.values()",
  ),
  createMutation(
    "reads of a list share its messages",
    { values: ["edited"] },
    "log/lists.ts",
    "for (const item of (await revive(stored)) as unknown[]) items.push(item);",
    `{
      const known = ((globalThis as { live?: WeakMap<object, unknown> }).live ??= new WeakMap<object, unknown>());
      if (!known.has(stored)) known.set(stored, await revive(stored));
      items.push(...(known.get(stored) as unknown[]));
    }`,
  ),
  createMutations(
    "rollback keeps the run's answers",
    { stop: ["rollback", "replace"] },
    ["checkpoints/checkpoints.ts", "writes: full.writes.filter(isOfOthers)", "writes: full.writes"],
    [
      "checkpoints/checkpoints.ts",
      "for (const row of this.tables.readWrites(runId)) filterRow(this.tables, row, isOfOthers);",
      "",
    ],
  ),
  createMutation(
    "questions are those of the run's events",
    { pause: ["parallel", "twice", "nested"], stop: ["cancel", "kill", "kill after stop"] },
    "runs/runner.ts",
    "? before.interrupts : checkpoints.questions();",
    "? before.interrupts : emitter.interrupts;",
  ),
  createMutation(
    "a rollback leaves the thread's status of the run",
    { stop: ["rollback", "replace"] },
    "runs/ending.ts",
    'outcome.attempt > 0 && reason !== "rollback" && !outcome.refusal',
    "outcome.attempt > 0 && !outcome.refusal",
  ),
  createMutation(
    "effects are lost with their thread",
    { lifecycle: ["deletion", "ttl delete"] },
    "context.ts",
    "if (this.tables.outbox.outlives)",
    "if (this.gone)",
  ),
  createMutation(
    "a change in place of a channel that no node wrote is not stored",
    { values: ["edited"] },
    "checkpoints/checkpoints.ts",
    'before && typeof value !== "object" && !changed',
    "before && !changed",
  ),
  createMutation(
    "a stopped run has no trace",
    { stop: ["cancel", "rollback", "replace"] },
    "tasks/side-effects.ts",
    "if (end) queueTrace(context, end, tracer);",
    "if (end && !run.outcome.stopped) queueTrace(context, end, tracer);",
  ),
  createMutation(
    "a copy loses the questions that wait",
    { lifecycle: ["copy"] },
    "copy.ts",
    "...record, ...own, format",
    '...record, ...own, rest: "idle", interrupts: {}, format',
  ),
  createMutations(
    "a ttl deletes a thread with a run that is not due",
    { kind: ["delayed"], lifecycle: ["ttl delete"] },
    [
      "alarm.ts",
      "runner.open.length > 0 ? undefined : deletionTime(record)",
      "runner.busy ? undefined : deletionTime(record)",
    ],
    [
      "alarm.ts",
      "runner.open.length === 0 && (deletionTime(context.record)",
      "!runner.busy && (deletionTime(context.record)",
    ],
    [
      "thread.ts",
      "if (runner.open.length > 0 || !isDue()) return false;",
      "if (runner.busy || !isDue()) return false;",
    ],
  ),
  createMutation(
    "a stop does not survive a restart",
    { stop: ["kill after stop"] },
    "runs/runner.ts",
    "this.#keepStop(active.run, reason);",
    "",
  ),
  createMutation(
    "a run's time counts from its last attempt",
    { stop: ["timeout"] },
    "runs/attempts.ts",
    "began + seconds * 1000 - Date.now()",
    "0 * began + seconds * 1000",
  ),
  createMutation(
    "a deleted run leaves the thread's values",
    { lifecycle: ["run deletion"] },
    "graph/prune.ts",
    "if (graph && !busy()) await refresh(context, graph);",
    "if (graph && !graph) await refresh(context, graph);",
  ),
  createMutation(
    "a question accepts a second answer",
    { stop: ["cancel", "rollback", "replace", "timeout"], pause: ["interrupt", "nested", "parallel", "twice"] },
    "runs/insert.ts",
    "if (areWaitedFor(answers, context, open)) return;",
    "if (answers.length >= 0) return;",
  ),
  createMutation(
    "a repeated command starts another run",
    { repetition: ["command"] },
    "runs/insert.ts",
    "if (fingerprint === undefined) return undefined;",
    "if (fingerprint !== null) return undefined;",
  ),
  createMutation(
    "a run takes the place only of runs that are due",
    { kind: ["delayed"] },
    "runs/runner.ts",
    "for (const one of before) this.stop(one.id, strategy);",
    "for (const one of before) if (isInFlight(one)) this.stop(one.id, strategy);",
  ),
  createMutation(
    "a run that is replaced is rolled back, whichever the strategy",
    { stop: ["replace"] },
    "runs/runner.ts",
    "this.stop(one.id, strategy);",
    'this.stop(one.id, strategy && "rollback");',
  ),
  createMutation(
    "a run begins at the latest checkpoint, whichever it names",
    { from: ["earlier"] },
    "runs/execute.ts",
    "const from = begun || !isFork(run) ? undefined : request.checkpoint;",
    "const from = begun || !isFork(run) || run.id ? undefined : request.checkpoint;",
  ),
  createMutation(
    "an answer stays whose run is stopped while its node is at work",
    { at: ["asking node"], stop: ["cancel", "replace", "timeout", "kill after stop"] },
    "runs/runner.ts",
    "if (reason && outcome.answered) checkpoints.removeAnswers(run.id);",
    "",
  ),
  createMutation(
    "a stopped run leaves the values of its last step",
    { at: ["asking node"], pause: ["parallel"], stop: ["cancel", "replace", "timeout", "kill after stop"] },
    "runs/runner.ts",
    "if (written) emitter.values = written;",
    "",
  ),
  {
    name: "a run takes the answer of another run",
    among: { at: ["asking node"], pause: ["interrupt", "twice", "nested"], stop: ["cancel", "kill after stop"] },
    patches: [
      {
        file: "src/runtime/saver.ts",
        find: "return taskId === NO_TASK && channel === RESUME && runId !== this.#runId;",
        replace: "return false;",
      },
    ],
  },
  {
    name: "a nested graph writes after its run was stopped",
    among: { at: ["asking node"], pause: ["nested"], stop: ["cancel"], lifecycle: ["compaction"], moment: ["stop"] },
    patches: [
      {
        file: "src/runtime/saver.ts",
        find: 'return this.#isClosed || (ns !== "" && this.stop?.aborted === true);',
        replace: "return false;",
      },
    ],
  },
  {
    name: "the error of a stopped task takes the place of its question",
    among: { at: ["asking node"], pause: ["parallel"], stop: ["cancel", "replace", "timeout", "kill after stop"] },
    patches: [
      {
        file: "src/runtime/saver.ts",
        find: "this.stop?.aborted ? writes.filter(([channel]) => channel !== ERROR) : writes;",
        replace: "writes;",
      },
    ],
  },
  {
    name: "a key that has expired gives the run of its first request",
    among: { repetition: ["expired key"] },
    patches: [
      {
        file: "src/http/idempotent-id.ts",
        find: "if (epoch !== undefined) texts.push(String(epoch));",
        replace: "",
      },
    ],
  },
];

/** The text with one change. Throws when the place is not there exactly once: the code has moved on. */
export function applyPatch(text: string, { file, find, replace }: Patch): string {
  const parts = text.split(find);
  if (parts.length !== 2) throw new Error(`${file} has "${find}" ${parts.length - 1} times, and must have it once.`);
  return parts.join(replace);
}
