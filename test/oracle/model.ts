/**
 * What a thread must be: its queue, its checkpoints with the writes of runs under them, its pending questions, its lifetime and
 * the effects of its runs. No storage, no concurrency, no LangGraph; time is a number. docs/semantics.md says the same in
 * prose. The graphs are those of graphs.ts, as the oracle drives them.
 */
import { listMiddle, listQuestions, joinSaid } from "./model-graph.ts";
import type { Pause } from "./graphs.ts";

export interface Values {
  log: string[];
  /** The text of each message. */
  said: string[];
  doc?: unknown;
}

export type Status = "pending" | "running" | "success" | "error" | "timeout" | "interrupted";
type Reason = "interrupt" | "rollback" | "timeout";

/** A node that a checkpoint waits for, with what runs have written for it. */
interface Task {
  node: string;
  /** What it asks in this turn, in order. */
  questions: string[];
  answers: { by: string; value: string }[];
  result?: { by: string; log: string[] };
}

interface Checkpoint {
  id: number;
  /** The run that wrote it; undefined for a state update. */
  by?: string;
  source: "input" | "loop" | "update";
  step: number;
  values: Values;
  tasks: Task[];
}

export interface RunSpec {
  name: string;
  /** What the person says. Without it the run continues where the thread is. */
  turn?: string;
  doc?: unknown;
  /** Answers by question. */
  answers?: Record<string, string>;
  /** Pauses before the last node. */
  breakpoint?: boolean;
  afterMs?: number;
  strategy?: "reject" | "interrupt" | "rollback";
  webhook?: boolean;
  /** The id of the checkpoint where it begins; the latest when absent. */
  from?: number;
}

export interface Run extends RunSpec {
  status: Status;
  due: number;
  /** It has been given its input. */
  begun: boolean;
  /** It has executed a node, or has tried to. */
  ran: boolean;
  stopped?: Reason;
  /** The turn that it has answered. */
  spoke?: string;
  /** Whether the last run had failed when this one began. */
  failedBefore: boolean;
  /** What its caller gets at its end. */
  result?: Values & { asks: string[] };
}

export interface Ttl {
  strategy: "delete" | "keep_latest";
  ms: number;
}

const OPEN: Status[] = ["pending", "running"];
const EMPTY: Values = { log: [], said: [] };
const TEMPORARY_MS = 60_000;
const TEMPORARY_WITH_KEY_MS = 24 * 3_600_000;

export class Model {
  now = 0;
  exists = false;
  /** The thread of a stateless run: when it is deleted after the run's end. */
  temporary?: { afterMs: number; at?: number };
  ttl?: Ttl & { expires: number; kept?: boolean };
  runs: Run[] = [];
  checkpoints: Checkpoint[] = [];
  /** Ends of runs that a webhook must tell, and runs that must have a trace. */
  hooks: string[] = [];
  traces: string[] = [];
  /** The last run failed. */
  failed = false;
  /** Whether the graph can be made. */
  graph: "works" | "throws" | "removed" = "works";
  last = "close";
  /** Nodes that wait at their gate. */
  readonly closed = new Set<string>();
  #id = 0;

  constructor(
    readonly pause: Pause,
    readonly edits: boolean,
  ) {}

  create(ttl?: Ttl, temporary = false, withKey = false): void {
    this.exists = true;
    if (temporary) this.temporary = { afterMs: withKey ? TEMPORARY_WITH_KEY_MS : TEMPORARY_MS };
    else if (ttl) this.ttl = { ...ttl, expires: this.now + ttl.ms };
  }

  get latest(): Checkpoint | undefined {
    return this.checkpoints.at(-1);
  }

  get open(): Run[] {
    return this.runs.filter(({ status }) => OPEN.includes(status));
  }

  /** Running, or pending and due. */
  get inFlight(): boolean {
    return this.open.some(({ due }) => due <= this.now);
  }

  /** The latest values, with what nodes have written that wait for others. */
  get values(): Values {
    const { values = EMPTY, tasks = [] } = this.latest ?? {};
    const written = tasks.flatMap(({ result }) => result?.log ?? []);
    return written.length > 0 ? { ...values, log: [...values.log, ...written] } : values;
  }

  /** The questions that wait for an answer. */
  get asks(): string[] {
    return (this.latest?.tasks ?? []).flatMap(listAsked).sort();
  }

  get next(): string[] {
    const open = (this.latest?.tasks ?? []).filter(({ result }) => !result);
    return open.map(({ node }) => node).sort();
  }

  get status(): "idle" | "busy" | "interrupted" | "error" {
    if (this.inFlight) return "busy";
    if (this.failed) return "error";
    return this.next.length > 0 ? "interrupted" : "idle";
  }

  run(name: string): Run | undefined {
    return this.runs.find((run) => run.name === name);
  }

  /** The status of the answer to a request for a run. */
  start(spec: RunSpec): number {
    if (!this.exists) return 404;
    if (this.temporary && this.runs.length > 0) return 409;
    const before = this.open;
    if (spec.strategy === "reject" && before.length > 0) return 409;
    const due = this.now + (spec.afterMs ?? 0);
    const run: Run = { ...spec, due, status: "pending", begun: false, ran: false, failedBefore: this.failed };
    this.runs.push(run);
    if (spec.strategy === "interrupt" || spec.strategy === "rollback")
      for (const one of before) this.stop(one.name, spec.strategy);
    this.settle();
    return 200;
  }

  /** Carries out what is due, as far as gates are open. */
  settle(): void {
    for (;;) {
      const running = this.runs.find(({ status }) => status === "running");
      const waiting = this.open.filter(({ due }) => due <= this.now).sort((a, b) => a.due - b.due);
      const run = running ?? waiting[0];
      if (!run || this.#advance(run) === "waits") return;
    }
  }

  stop(name: string, reason: Reason): void {
    const run = this.run(name);
    if (!run || !OPEN.includes(run.status)) return;
    run.stopped = reason;
    if (reason === "timeout") this.#end(run, "timeout");
    else this.#end(run, "interrupted");
    this.settle();
  }

  /** A state update: 200, or 409 while a run is in flight. */
  update(log: string): number {
    if (!this.exists) return 404;
    if (this.temporary || this.inFlight || this.graph !== "works") return 409;
    const { step = -2 } = this.latest ?? {};
    const { values } = this;
    // As if the last node had written it.
    this.#put({ source: "update", step: step + 1, values: { ...values, log: [...values.log, log] }, tasks: [] });
    this.failed = false;
    this.#touch();
    return 200;
  }

  /** Leaves the latest checkpoint of the root, with what is written under it. */
  keepLatest(): void {
    this.checkpoints = this.checkpoints.slice(-1);
  }

  /** Time passes, and alarms come. */
  advance(ms: number): void {
    this.now += ms;
    this.settle();
    const temporaryEnds = this.temporary?.at ?? Infinity;
    if (temporaryEnds <= this.now) return this.remove();
    if (!this.ttl || this.ttl.expires > this.now) return;
    if (this.ttl.strategy === "delete") {
      if (this.open.length === 0) this.remove();
    } else if (!this.inFlight && !this.ttl.kept) {
      this.keepLatest();
      this.ttl.kept = true;
    }
  }

  /** Deletes the thread. What its runs owe to others is still delivered. */
  remove(): void {
    for (const run of this.open.toReversed()) this.#end(run, "interrupted");
    this.exists = false;
    this.runs = [];
    this.checkpoints = [];
  }

  /** The oldest checkpoint at which nothing waits, besides the latest. */
  get earlier(): Checkpoint | undefined {
    return this.checkpoints.slice(0, -1).find(({ tasks }) => tasks.length === 0);
  }

  /** Deletes a run with its checkpoints and all that it wrote. */
  removeRun(name: string): void {
    const run = this.run(name);
    if (!run) return;
    if (OPEN.includes(run.status)) this.stop(name, "interrupt");
    this.#undo(run);
    this.settle();
    if (this.inFlight) return;
    // As after a state update, the thread shows its latest checkpoint.
    this.failed = false;
  }

  /** A copy: checkpoints and questions, no runs. It has a lifetime of its own. */
  copy(): Model {
    const copy = new Model(this.pause, this.edits);
    copy.now = this.now;
    copy.exists = true;
    copy.checkpoints = structuredClone(this.checkpoints);
    copy.last = this.last;
    copy.#id = this.#id;
    copy.ttl = this.ttl;
    copy.#touch();
    return copy;
  }

  /** One step of a run: "waits" at a closed gate. */
  #advance(run: Run): "on" | "waits" {
    if (!run.begun) {
      run.failedBefore = this.failed;
      run.status = "running";
      run.begun = true;
      run.ran = true;
      if (this.graph !== "works") return this.#end(run, "error");
      this.#take(run);
      return "on";
    }
    const here = this.latest;
    if (!here || here.tasks.length === 0) return this.#end(run, "success");
    const atBreakpoint = run.breakpoint && here.by === run.name && here.tasks.some(({ node }) => node === this.last);
    if (atBreakpoint) return this.#end(run, "interrupted");
    const turn = here.values.said.findLast((text) => !text.startsWith("(")) ?? "";
    for (const task of here.tasks) {
      if (task.result || listAsked(task).length > 0) continue;
      if (this.closed.has(task.node)) return "waits";
      task.result = { by: run.name, log: this.#perform(task, turn) };
      if (task.node === "speak") run.spoke = turn;
    }
    if (here.tasks.some(({ result }) => !result)) return this.#end(run, "interrupted");
    this.#put({
      by: run.name,
      source: "loop",
      step: here.step + 1,
      values: this.#applyTasks(here, turn),
      tasks: this.#listNext(here.tasks[0]?.node ?? "", turn),
    });
    return "on";
  }

  /** Gives the run's input to the graph: a new turn, or answers to what waits. */
  #take(run: Run): void {
    const begin = this.checkpoints.find(({ id }) => id === run.from) ?? this.latest;
    const { step = -2, values } = begin ?? { values: EMPTY };
    if (run.turn === undefined) {
      for (const task of this.latest?.tasks ?? []) {
        const [question] = listAsked(task);
        const value = question === undefined ? undefined : run.answers?.[question];
        if (value !== undefined) task.answers.push({ by: run.name, value });
      }
      return;
    }
    this.#put({ by: run.name, source: "input", step: step + 1, values, tasks: [] });
    const doc = run.doc === undefined ? values.doc : structuredClone(run.doc);
    const given = { log: values.log, said: [...values.said, run.turn], doc };
    this.#put({ by: run.name, source: "loop", step: step + 2, values: given, tasks: [task("speak", [])] });
    const input = this.checkpoints.at(-2);
    if (input) input.tasks = [{ ...task("__start__", []), result: { by: run.name, log: [] } }];
  }

  #perform({ node, questions, answers }: Task, turn: string): string[] {
    if (node === "speak") return [`write ${turn}`];
    if (node === this.last) return this.edits ? ["edit", "close"] : ["close"];
    if (this.pause === "nested" && questions.length > 0) return ["first", `deep:${answers[0]?.value}`];
    return [questions.length > 0 ? `${node}:${answers.map(({ value }) => value).join()}` : node];
  }

  #applyTasks({ values, tasks }: Checkpoint, turn: string): Values {
    const log = [...values.log, ...tasks.flatMap(({ result }) => result?.log ?? [])];
    const speaks = tasks[0]?.node === "speak";
    const edited = this.edits && tasks[0]?.node === this.last;
    const { edits } = (values.doc ?? {}) as { edits: number };
    const texts = speaks ? [...values.said, joinSaid(turn)] : values.said;
    return {
      log,
      said: edited ? [...texts.slice(0, -1), `${texts.at(-1)}!`] : texts,
      doc: edited ? { ...(values.doc as object), edits: edits + 1 } : values.doc,
    };
  }

  #listNext(node: string, turn: string): Task[] {
    if (node === this.last) return [];
    if (node === "speak")
      return listMiddle(this.pause).map((name) => task(name, listQuestions(this.pause, name, turn)));
    return [task(this.last, [])];
  }

  #put(checkpoint: Omit<Checkpoint, "id">): void {
    this.checkpoints.push({ id: (this.#id += 1), ...checkpoint });
  }

  #end(run: Run, status: Status): "on" {
    run.status = status;
    if (run.webhook) this.hooks.push(`${run.name} ${status}`);
    if (run.ran) this.traces.push(run.name);
    if (run.stopped === "rollback") {
      this.#undo(run);
      if (run.ran) this.failed = run.failedBefore;
    } else {
      if (run.ran) this.failed = status === "error" || status === "timeout";
      if (run.stopped) this.#askAgain(run);
      if (status !== "error" && status !== "timeout")
        run.result = { ...structuredClone(this.values), asks: run.stopped ? [] : this.asks };
    }
    this.#touch();
    if (this.temporary && this.open.length === 0) this.temporary.at = this.now + this.temporary.afterMs;
    return "on";
  }

  /** Removes the run, its checkpoints, and its writes under the checkpoints of others. */
  #undo({ name }: Run): void {
    this.runs = this.runs.filter((run) => run.name !== name);
    this.checkpoints = this.checkpoints.filter(({ by }) => by !== name);
    for (const { tasks } of this.checkpoints)
      for (const one of tasks) {
        one.answers = one.answers.filter(({ by }) => by !== name);
        if (one.result?.by === name) delete one.result;
      }
  }

  /** A question whose node has not ended with the answer waits again. */
  #askAgain({ name }: Run): void {
    for (const one of this.latest?.tasks ?? [])
      if (!one.result) one.answers = one.answers.filter(({ by }) => by !== name);
  }

  /** What happens on a thread starts its lifetime again. */
  #touch(): void {
    if (this.ttl) this.ttl = { strategy: this.ttl.strategy, ms: this.ttl.ms, expires: this.now + this.ttl.ms };
  }
}

const task = (node: string, questions: string[]): Task => ({ node, questions, answers: [] });

/** What the task asks now. */
const listAsked = ({ questions, answers, result }: Task): string[] =>
  result ? [] : questions.slice(answers.length, answers.length + 1);
