/** The programs of the pairs that any Agent Server can carry out, and what is seen of a thread after each step. */
import type { Client, Command, Interrupt, ThreadState } from "@langchain/langgraph-sdk";
import type { Pause, Shape } from "./graphs.ts";
import { listAsks, toResult, toValues } from "./views.ts";

/** What was seen, by what it is. */
export type Observations = Map<string, unknown>;

const PAUSES: Pause[] = ["none", "interrupt", "nested", "parallel", "breakpoint", "twice"];
const TWISTS = [
  "plain",
  "delta",
  "edits",
  "delayed",
  "cancel",
  "rollback",
  "replace",
  "late answer",
  "copy",
  "run deletion",
  "deletion",
] as const;

export interface Program {
  name: string;
  pause: Pause;
  twist: (typeof TWISTS)[number];
}

const isPossible = ({ pause, twist }: Program): boolean =>
  twist !== "late answer" || !["none", "breakpoint"].includes(pause);

/** Each pause with each thing that can happen. */
export const PROGRAMS: Program[] = PAUSES.flatMap((pause) =>
  TWISTS.map((twist) => ({ name: `pause: ${pause}, ${twist}`, pause, twist })),
).filter(isPossible);

export const SHAPES: Shape[] = PAUSES.flatMap((pause) => [{ pause }, { pause, delta: true }, { pause, edits: true }]);

export const nameGraph = ({ pause, delta, edits }: Shape): string =>
  [pause, delta && "delta", edits && "edits"].filter(Boolean).join("_");

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** The value, or the status of the error. */
async function catchStatus<T>(work: Promise<T>): Promise<T | string> {
  return work.catch((error: { status?: number; message: string }) => `HTTP ${error.status ?? error.message}`);
}

/** Carries out the program. An error that no server should give is an observation, too. */
export async function observe(client: Client, program: Program): Promise<Observations> {
  const thread = await client.threads.create({});
  const course = new Course(client, program, thread.thread_id);
  try {
    await course.run();
  } catch (error) {
    course.seen.set("an error of the program", error instanceof Error ? error.message : String(error));
  }
  return course.seen;
}

class Course {
  readonly seen: Observations = new Map();
  readonly #runs = new Map<string, string>();
  readonly #graph: string;

  readonly client: Client;
  readonly program: Program;
  threadId: string;

  constructor(client: Client, program: Program, threadId: string) {
    const { pause, twist } = program;
    this.client = client;
    this.program = program;
    this.threadId = threadId;
    this.#graph = nameGraph({ pause, delta: twist === "delta", edits: twist === "edits" });
  }

  async run(): Promise<void> {
    const { pause, twist } = this.program;
    const pauses = pause !== "none";
    const stops = twist === "cancel" || twist === "rollback" || twist === "replace";
    await this.#start("t1", { input: turn("t1", { edits: 0 }) });
    await this.#finish("t1", "the first run");
    const text = `${stops ? "slow " : ""}t2${pauses && pause !== "breakpoint" ? "?" : ""}`;
    const more = pause === "breakpoint" ? { interruptBefore: ["close"] } : {};
    if (twist === "delayed") {
      await this.#start("t2", { input: turn(text), afterSeconds: 4, ...more });
      await this.#look("while a delayed run waits");
      const update = this.client.threads.updateState(this.threadId, { values: { log: ["update"] }, asNode: "close" });
      this.seen.set("a state update while a delayed run waits", typeof (await catchStatus(update)));
    } else await this.#start("t2", { input: turn(text), ...more });
    if (stops && !pauses) await this.#stop("t2");
    await this.#finish("t2", "the run that pauses");
    if (twist === "copy") {
      const copy = await this.client.threads.copy(this.threadId);
      this.threadId = copy.thread_id;
      this.#runs.clear();
      await this.#look("of the copy");
    }
    if (twist === "run deletion") {
      await this.client.runs.delete(this.threadId, this.#runs.get("t2") ?? "");
      this.#runs.delete("t2");
      await this.#look("after the deletion of the run");
    }
    if (twist === "deletion") {
      await this.client.threads.delete(this.threadId);
      return this.#look("of a deleted thread");
    }
    if (stops && pauses) {
      await this.#answer("a");
      await this.#stop("a");
      await this.#finish("a", "the run that was stopped");
    }
    for (let n = 1; n < 6 && (await this.#waits()); n += 1) {
      const answer = await this.#answer(`c${n}`);
      await this.#finish(`c${n}`, "an answer");
      if (twist === "late answer" && answer && n === 1) {
        await this.#start("late", { command: { resume: answer } });
        await this.#finish("late", "a late answer");
      }
    }
    await this.#start("t3", { input: turn("t3") });
    await this.#finish("t3", "the last run");
    const history = await catchStatus(this.client.threads.getHistory(this.threadId, { limit: 100 }));
    this.seen.set(
      "the history at the end",
      typeof history === "string" ? history : history.map(({ metadata }) => metadata?.source),
    );
  }

  async #start(name: string, more: Record<string, unknown>): Promise<void> {
    const made = await catchStatus(
      this.client.runs.create(this.threadId, this.#graph, {
        multitaskStrategy: "enqueue",
        streamMode: ["values"],
        ...more,
      }),
    );
    if (typeof made === "string") this.seen.set(`the request for ${name}`, made);
    else this.#runs.set(name, made.run_id);
  }

  /** Stops the run once it is at work. */
  async #stop(name: string): Promise<void> {
    const run = this.#runs.get(name) ?? "";
    for (let n = 0; n < 100; n += 1) {
      if ((await this.client.runs.get(this.threadId, run)).status !== "pending") break;
      await sleep(50);
    }
    await sleep(800);
    if (this.program.twist === "replace") {
      await this.#start("r", { input: turn("r"), multitaskStrategy: "rollback" });
      return this.#finish("r", "the run that replaces another");
    }
    const action = this.program.twist === "rollback" ? "rollback" : "interrupt";
    await catchStatus(this.client.runs.cancel(this.threadId, run, true, action));
  }

  /** Answers everything that waits. Gives the answers. */
  async #answer(name: string): Promise<Command["resume"]> {
    const asks = await this.#questions();
    const ids = Object.fromEntries(asks.map(({ id }) => [id, name]));
    const resume = asks.length === 1 ? name : ids;
    await this.#start(name, asks.length > 0 ? { command: { resume } } : { input: null });
    return asks.length > 0 ? resume : undefined;
  }

  async #state(): Promise<ThreadState | string> {
    return catchStatus(this.client.threads.getState(this.threadId));
  }

  async #questions(): Promise<Interrupt[]> {
    const state = await this.#state();
    return typeof state === "string" ? [] : state.tasks.flatMap(({ interrupts }) => interrupts);
  }

  async #waits(): Promise<boolean> {
    const state = await this.#state();
    return typeof state !== "string" && (state.next.length > 0 || state.tasks.length > 0);
  }

  async #finish(name: string, what: string): Promise<void> {
    const run = this.#runs.get(name);
    if (run === undefined) return;
    const result = await catchStatus(this.client.runs.join(this.threadId, run));
    this.seen.set(`join of ${what}`, typeof result === "string" ? result : toResult(result ?? {}));
    await this.#look(`after ${what}`);
  }

  async #look(when: string): Promise<void> {
    // The reference server writes the thread's status after the end of its run.
    await sleep(300);
    const [thread, state, runs] = await Promise.all([
      catchStatus(this.client.threads.get(this.threadId)),
      this.#state(),
      catchStatus(this.client.runs.list(this.threadId, { limit: 100 })),
    ]);
    const names = new Map([...this.#runs].map(([name, id]) => [id, name]));
    const see = (what: string, value: unknown) => this.seen.set(`${what} ${when}`, value);
    if (typeof thread === "string") see("the thread", thread);
    else {
      see("status", thread.status);
      see("values", toValues(thread.values));
      see("interrupts", listAsks((thread.interrupts ?? {}) as Record<string, { value: unknown }[]>));
    }
    if (typeof state === "string") see("the state", state);
    else {
      see("next", [...state.next].sort());
      see("values of the state", toValues(state.values));
      const asks = state.tasks.flatMap(({ interrupts }) => interrupts.map(({ value }) => String(value)));
      see("questions of the state", asks.sort());
    }
    const statuses =
      typeof runs === "string" ? runs : runs.map(({ run_id, status }) => `${names.get(run_id) ?? "?"} ${status}`);
    see("runs", typeof statuses === "string" ? statuses : statuses.sort());
  }
}

const turn = (text: string, doc?: unknown) => ({
  messages: [{ role: "user", content: text }],
  ...(doc !== undefined && { doc }),
});
