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
  /** The run that has executed it until it asked. */
  askedBy?: string;
  /** What it asks in this turn, in order. */
  questions: string[];
  answers: { by: string; value: string }[];
  /** Of a functional graph: its input. */
  turn?: string;
  doc?: unknown;
  result?: { by: string; log: string[] };
}

export type Form = "nodes" | "keeps" | "functional";

interface Checkpoint {
  id: number;
  /** The run that wrote it; undefined for a state update. */
  by?: string;
  /** A run of another graph wrote it. */
  isOther?: boolean;
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
  durability?: "async" | "sync" | "exit";
  /** The assistant, if it is not the thread's own. */
  assistant?: string;
  /** It is of a graph whose state and nodes are those of the thread's own, and which never pauses. */
  isOther?: boolean;
}

export interface Update {
  log: string;
  /** The text of a message that it adds. */
  said?: string;
  /** The node that could have written it: the last one when absent. */
  as?: string;
}

export interface Run extends RunSpec {
  status: Status;
  due: number;
  /** It has been given its input. */
  begun: boolean;
  /** It has executed a node, or has tried to. */
  ran: boolean;
  /** Whose graph the thread's state was of when this one began. */
  graphBefore?: "own" | "other";
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
  /** Whose run began last. */
  owner: "own" | "other" = "own";
  /** Runs that were deleted, whose checkpoints stay until no run is in flight. */
  #doomed: Run[] = [];
  /** The states of the nested graph that keeps its state, by the runs that made them. */
  #kept: { by: string; count: number }[] = [];
  /** Whether the graph can be made. */
  graph: "works" | "throws" | "removed" = "works";
  last = "close";
  /** Nodes that wait at their gate. */
  readonly closed = new Set<string>();
  #id = 0;

  constructor(
    readonly pause: Pause,
    readonly edits: boolean,
    readonly form: Form = "nodes",
    readonly delta = false,
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
    const asking = (this.latest?.tasks ?? []).filter(({ askedBy }) => askedBy !== undefined);
    return asking.flatMap(listAsked).sort();
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
  update({ log, said, as = this.last }: Update): number {
    if (!this.exists) return 404;
    if (this.temporary || this.inFlight || this.graph !== "works") return 409;
    const { step = -1 } = this.latest ?? {};
    const { values } = this;
    const after = { ...values, log: [...values.log, log], said: said ? [...values.said, said] : values.said };
    const tasks = this.#listNext(as, readTurn(after));
    this.#put({ source: "update", step: step + 1, values: after, tasks });
    this.failed = false;
    this.touch();
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
    this.#doomed = [];
    this.exists = false;
    this.runs = [];
    this.checkpoints = [];
  }

  /** The oldest checkpoint at which nothing waits, besides the latest. */
  get earlier(): Checkpoint | undefined {
    return this.checkpoints.slice(0, -1).find(({ tasks }) => tasks.length === 0);
  }

  /** Deletes a run with its checkpoints and all that it wrote. An open one is rolled back. */
  removeRun(name: string): void {
    const run = this.run(name);
    if (!run) return;
    if (OPEN.includes(run.status)) return this.stop(name, "rollback");
    this.runs = this.runs.filter((one) => one !== run);
    this.#doomed.push(run);
    if (this.inFlight) return;
    this.#bury();
    // As after a state update, the thread shows its latest checkpoint.
    this.failed = false;
  }

  /** What deleted runs have left goes when no run may stand on it. */
  #bury(): void {
    for (const run of this.#doomed.splice(0)) this.#undo(run);
  }

  /** The process stops. A run that stores its checkpoints at its end has stored none, and begins again. */
  crash(): void {
    for (const run of this.runs)
      if (run.status === "running" && run.durability === "exit") {
        this.#removeWrites(run);
        run.begun = false;
      }
  }

  /** A copy: checkpoints and questions, no runs. It has a lifetime of its own. */
  copy(): Model {
    const copy = new Model(this.pause, this.edits, this.form, this.delta);
    copy.now = this.now;
    copy.exists = true;
    copy.checkpoints = structuredClone(this.checkpoints);
    copy.last = this.last;
    copy.owner = this.owner;
    copy.#kept = structuredClone(this.#kept);
    copy.#id = this.#id;
    copy.ttl = this.ttl;
    copy.touch();
    return copy;
  }

  /** One step of a run: "waits" at a closed gate. */
  #advance(run: Run): "on" | "waits" {
    if (!run.begun) {
      run.failedBefore = this.failed;
      run.graphBefore = this.owner;
      this.owner = run.isOther ? "other" : "own";
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
    const turn = here.tasks[0]?.turn ?? readTurn(here.values);
    for (const task of here.tasks) {
      if (task.result) continue;
      if (this.#isHeld(task)) return "waits";
      // What a function has said is kept with its task, and is sent again with its result.
      if (task.node === "speak" || (task.node === FUNCTION && task.askedBy === undefined)) run.spoke = turn;
      if (listAsked(task).length > 0) {
        task.askedBy ??= run.name;
        continue;
      }
      task.result = { by: run.name, log: this.#perform(task, turn, run) };
      if (task.node === FUNCTION) run.spoke = turn;
    }
    if (here.tasks.some(({ result }) => !result)) return this.#end(run, "interrupted");
    this.#put({
      by: run.name,
      isOther: run.isOther,
      source: "loop",
      step: here.step + 1,
      values: this.#applyTasks(here, turn),
      tasks: this.#listNext(here.tasks[0]?.node ?? "", turn, run.isOther),
    });
    return "on";
  }

  /** Whether a task waits at a gate that it comes to before it asks next, or ends. */
  #isHeld(task: Task): boolean {
    const asks = listAsked(task).length > 0;
    if (task.node !== FUNCTION) return !asks && this.closed.has(task.node);
    const answered = task.answers.length > 0 && !asks;
    return this.closed.has("speak") || (answered && this.closed.has("ask")) || (!asks && this.closed.has(this.last));
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
    const doc = run.doc === undefined ? values.doc : structuredClone(run.doc);
    if (this.form === "functional" && !run.isOther) {
      const asks = listMiddle(this.pause).flatMap((node) => listQuestions(this.pause, node, run.turn ?? ""));
      const tasks = [{ ...task(FUNCTION, asks), turn: run.turn, doc }];
      this.#put({ by: run.name, source: "input", step: step + 1, values, tasks });
      return;
    }
    this.#put({ by: run.name, source: "input", step: step + 1, values, tasks: [] });
    const given = { log: values.log, said: [...values.said, run.turn], doc };
    this.#put({
      by: run.name,
      isOther: run.isOther,
      source: "loop",
      step: step + 2,
      values: given,
      tasks: [task("speak", [])],
    });
    const input = this.checkpoints.at(-2);
    if (input) input.tasks = [{ ...task("__start__", []), result: { by: run.name, log: [] } }];
  }

  #perform({ node, questions, answers }: Task, turn: string, { name, isOther }: Run): string[] {
    if (node === "keep") {
      const count = (this.#kept.at(-1)?.count ?? 0) + 1;
      this.#kept.push({ by: name, count });
      return [`keep:${count}`];
    }
    if (node === FUNCTION) {
      const said = answers.map(({ value }) => value).join();
      return [`write ${turn}`, questions.length > 0 ? `ask:${said}` : "ask", "close"];
    }
    if (isOther && node === "close") return this.edits ? ["edit", "close"] : ["close"];
    if (node === "speak") return [`write ${turn}`];
    if (node === this.last) return this.edits ? ["edit", "close"] : ["close"];
    if (this.pause === "nested" && questions.length > 0) return ["first", `deep:${answers[0]?.value}`];
    return [questions.length > 0 ? `${node}:${answers.map(({ value }) => value).join()}` : node];
  }

  #applyTasks({ values, tasks }: Checkpoint, turn: string): Values {
    const log = [...values.log, ...tasks.flatMap(({ result }) => result?.log ?? [])];
    const [first] = tasks;
    if (first?.node === FUNCTION) return { log, said: [...values.said, turn, joinSaid(turn)], doc: first.doc };
    const speaks = tasks[0]?.node === "speak";
    const edited = this.edits && tasks[0]?.node === this.last;
    const { edits = 0 } = (values.doc ?? {}) as { edits?: number };
    const texts = speaks ? [...values.said, joinSaid(turn)] : values.said;
    return {
      log,
      said: edited ? [...texts.slice(0, -1), `${texts.at(-1)}!`] : texts,
      doc: edited ? { ...(values.doc as object), edits: edits + 1 } : values.doc,
    };
  }

  #listNext(node: string, turn: string, isOther = false): Task[] {
    if (node === this.last || node === "close" || node === FUNCTION) return [];
    if (node === "speak") {
      const pause = isOther ? "none" : this.pause;
      const middle = [...listMiddle(pause), ...(this.form === "keeps" && !isOther ? ["keep"] : [])];
      return middle.sort().map((name) => task(name, listQuestions(pause, name, turn)));
    }
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
      this.owner = run.graphBefore ?? this.owner;
    } else {
      if (run.ran) this.failed = status === "error" || status === "timeout";
      if (run.stopped) this.#askAgain(run);
      if (status !== "error" && status !== "timeout")
        run.result = { ...structuredClone(this.values), asks: run.stopped ? [] : this.asks };
    }
    if (run.durability === "exit") this.#keepLast(run);
    this.#bury();
    this.touch();
    if (this.temporary && this.open.length === 0) this.temporary.at = this.now + this.temporary.afterMs;
    return "on";
  }

  /** Removes the run, its checkpoints, and its writes under the checkpoints of others. */
  #undo(run: Run): void {
    this.runs = this.runs.filter(({ name }) => name !== run.name);
    this.#removeWrites(run);
  }

  /** Of a run that stores at its end: the checkpoint at which it has come to its end. */
  #keepLast({ name }: Run): void {
    const last = this.checkpoints.findLast(({ by }) => by === name);
    this.checkpoints = this.checkpoints.filter((one) => one.by !== name || one === last);
    // What is replayed is kept as writes under a checkpoint before: LangGraph makes one.
    if (this.delta && last && this.checkpoints.length === 1)
      this.checkpoints.unshift({ id: (this.#id += 1), by: name, source: "loop", step: -2, values: EMPTY, tasks: [] });
  }

  #removeWrites({ name }: Run): void {
    this.#kept = this.#kept.filter(({ by }) => by !== name);
    this.checkpoints = this.checkpoints.filter(({ by }) => by !== name);
    for (const { tasks } of this.checkpoints)
      for (const one of tasks) {
        one.answers = one.answers.filter(({ by }) => by !== name);
        if (one.result?.by === name) delete one.result;
        if (one.askedBy === name) delete one.askedBy;
      }
  }

  /** A question whose node has not ended with the answer waits again. */
  #askAgain({ name }: Run): void {
    for (const one of this.latest?.tasks ?? [])
      if (!one.result) one.answers = one.answers.filter(({ by }) => by !== name);
  }

  /** What happens on a thread starts its lifetime again. */
  touch(): void {
    if (this.ttl) this.ttl = { strategy: this.ttl.strategy, ms: this.ttl.ms, expires: this.now + this.ttl.ms };
  }
}

/** The one node of a functional graph. */
const FUNCTION = "oracle";

/** What a person said last. */
const readTurn = ({ said }: Values): string => said.findLast((text) => !text.startsWith("(")) ?? "";

const task = (node: string, questions: string[]): Task => ({ node, questions, answers: [] });

/** What the task asks now. */
const listAsked = ({ questions, answers, result }: Task): string[] =>
  result ? [] : questions.slice(answers.length, answers.length + 1);
