/** Random work on one thread: requests of every kind in any order, with gates, rules and restarts. What they leave obeys the laws. */
import type { Random } from "../../support/random.ts";
import * as gates from "../gates.ts";
import type { Shape } from "../graphs.ts";
import { checkLaws, checkReplay, eventually, expectSame, readRest } from "../laws.ts";
import { pause } from "../patience.ts";
import { listHooks } from "../receiver.ts";
import { Sights } from "../sights.ts";
import { classicTexts } from "../texts.ts";
import { Mismatch, type Gate } from "../world.ts";
import { choose, type Step } from "./programs.ts";

type Json = Record<string, unknown>;

const STEPS = 12;
const LOOKS = 400;
const HOUR_S = 3_600;
const WEBHOOK = "https://hooks.oracle.example/run";
const NODES: readonly Gate[] = ["speak", "ask", "right", "close"];
const DURABILITIES = ["async", "async", "sync", "exit"];
const STRATEGIES = [undefined, undefined, undefined, "interrupt", "rollback", "reject"];
const OPEN = ["pending", "running"];

/** The graphs of the work by kind. */
export const SHAPES: Record<string, Shape> = {
  plain: { pause: "interrupt" },
  delta: { pause: "interrupt", delta: true },
  nested: { pause: "nested" },
  "nested-delta": { pause: "nested", delta: true },
  parallel: { pause: "parallel", delta: true },
  twice: { pause: "twice" },
};

/** The graph of other runs, whose state has nothing that the others' have. */
export const OTHER = "random-other";

/** Words, as often as they are chosen. */
const WORDS = `run run run answer answer respond cancel delayed update update-as prune
  copy delete fork hold hold open other other-later rule kill rest rolled-back`.split(/\s+/);

export function makeSteps(random: Random): Step[] {
  const number = () => String(random.between(0, 60));
  return Array.from({ length: STEPS }, (_, i) => {
    const word = i === 0 ? "run" : WORDS[random.between(0, WORDS.length)];
    const durability = DURABILITIES[random.between(0, DURABILITIES.length)];
    return [word ?? "run", number(), number(), durability ?? "async"];
  });
}

export class Work {
  /** Runs that were accepted, and those of them that something may have removed. */
  readonly #accepted: { run: string; thread: Sights }[] = [];
  readonly #mayBeGone = new Set<string>();
  readonly #left: Sights[] = [];
  readonly #pruned = new Set<Sights>();
  #said = 0;

  constructor(public thread: Sights) {}

  async #start(body: Json, as = this.thread.graphId): Promise<string | undefined> {
    const request = { assistant_id: as, webhook: WEBHOOK, ...body };
    const path = `${this.thread.path}/runs`;
    const made = await this.thread.json<{ run_id: string }>(path, { body: request });
    if (typeof made === "number") {
      // What waits may be taken or gone meanwhile, and `reject` refuses.
      if (made !== 409 && made !== 404 && made !== 422) throw new Mismatch(`a request for a run answers ${made}`);
      return undefined;
    }
    this.#accept(made.run_id);
    return made.run_id;
  }

  #accept(run: string): void {
    this.#accepted.push({ run, thread: this.thread });
    this.thread.ids.set(run, run);
  }

  async #runs(thread = this.thread): Promise<{ run_id: string; status: string }[]> {
    const runs = await thread.json<{ run_id: string; status: string }[]>(`${thread.path}/runs?limit=100`);
    return typeof runs === "number" ? [] : runs;
  }

  async #asked(): Promise<string[]> {
    const thread = await this.thread.json<{ interrupts: Record<string, { id: string }[]> }>(this.thread.path);
    return typeof thread === "number"
      ? []
      : [
          ...new Set(
            Object.values(thread.interrupts)
              .flat()
              .map(({ id }) => id),
          ),
        ];
  }

  #say(asks: boolean): Json {
    return { input: { messages: [{ role: "user", content: `u${(this.#said += 1)}${asks ? "?" : ""}` }] } };
  }

  /** Carries a step out. */
  async take([word = "", first, second, durability = "async"]: Step): Promise<void> {
    const { thread } = this;
    switch (word) {
      case "run": {
        const multitask_strategy = choose(STRATEGIES, first);
        if (multitask_strategy === "rollback") await this.#expectGone();
        await this.#start({ ...this.#say(Number(second) % 2 === 0), multitask_strategy, durability });
        return;
      }
      case "answer": {
        const asked = await this.#asked();
        const one = choose(asked, first);
        const resume = Number(second) % 2 && one ? { [one]: "yes" } : "yes";
        await this.#start(one ? { command: { resume }, durability } : { input: null, durability });
        return;
      }
      case "respond":
        return this.#respond(choose(await this.#asked(), first));
      case "cancel":
        return this.#cancel(first, second);
      case "delayed":
        await this.#start({ ...this.#say(false), after_seconds: HOUR_S });
        return;
      case "update":
      case "update-as": {
        const touches =
          Number(first) % 2 ? { messages: [{ role: "assistant", content: "updated", id: "updated" }] } : {};
        const as_node = word === "update-as" ? choose(["speak", "close"], second) : undefined;
        await thread.json(`${thread.path}/state`, { body: { values: { log: ["update"], ...touches }, as_node } });
        return;
      }
      case "prune":
        this.#pruned.add(thread);
        await thread.json("/threads/prune", { body: { thread_ids: [thread.threadId], strategy: "keep_latest" } });
        return;
      case "copy":
        return this.#copy();
      case "delete": {
        const run = choose(await this.#runs(), first)?.run_id;
        if (run === undefined) return;
        this.#mayBeGone.add(run);
        // The run ends at its next step, which waits at a gate.
        const deleted = thread.call(`${thread.path}/runs/${run}`, { method: "DELETE" });
        if (Number(second) % 2) this.#open();
        await this.#openUntil(deleted);
        return;
      }
      case "fork": {
        const states = await thread.json<{ checkpoint: { checkpoint_id: string } }[]>(
          `${thread.path}/history?limit=100`,
        );
        const place = typeof states === "number" ? undefined : choose(states, first);
        if (place === undefined) return;
        const { checkpoint_id } = place.checkpoint;
        await this.#start({ ...(Number(second) % 3 ? this.#say(false) : { input: null }), checkpoint_id, durability });
        return;
      }
      case "hold":
        return gates.close(thread.graphId, choose(NODES, first) ?? "close");
      case "open":
        return this.#open();
      case "other":
        await this.#start({ input: { note: "" } }, OTHER);
        return;
      case "other-later":
        await this.#start({ input: { note: "" }, after_seconds: HOUR_S }, OTHER);
        return;
      case "rule":
        return this.#rule(first);
      case "kill":
        await pause(Number(first));
        await thread.kill();
        return;
      case "rest":
        await this.#settle();
        return this.#check(thread);
      case "rolled-back":
        return this.#rollBack(second);
      default:
        throw new Error(`No step is called ${word}.`);
    }
  }

  #open(): void {
    gates.open(this.thread.graphId);
  }

  /** Waits for the answer, and opens the gates when what it waits for needs that. */
  async #openUntil<T>(answer: Promise<T>): Promise<T> {
    const opened = pause(100).then(() => this.#open());
    const got = await answer;
    await opened;
    return got;
  }

  async #expectGone(): Promise<void> {
    for (const { run_id, status } of await this.#runs()) if (OPEN.includes(status)) this.#mayBeGone.add(run_id);
  }

  async #respond(interrupt: string | undefined): Promise<void> {
    if (interrupt === undefined) return;
    const { thread } = this;
    const params = { responses: [{ interrupt_id: interrupt, response: "yes" }] };
    const body = { id: (this.#said += 1), method: "input.respond", params };
    const before = new Set((await this.#runs()).map(({ run_id }) => run_id));
    await thread.json(`${thread.path}/commands`, { body });
    // A command has no webhook.
    for (const { run_id } of await this.#runs()) if (!before.has(run_id)) thread.ids.set(run_id, run_id);
  }

  async #cancel(first: string | undefined, second: string | undefined): Promise<void> {
    const open = (await this.#runs()).filter(({ status }) => OPEN.includes(status));
    const run = choose(open, first)?.run_id;
    if (run === undefined) return;
    const action = choose(["interrupt", "rollback"], second);
    if (action === "rollback") this.#mayBeGone.add(run);
    await this.thread.call(`${this.thread.path}/runs/${run}/cancel?wait=0&action=${action}`, { method: "POST" });
  }

  async #copy(): Promise<void> {
    await this.#settle();
    const made = await this.thread.json<{ thread_id: string }>(`${this.thread.path}/copy`, { method: "POST" });
    if (typeof made === "number") throw new Mismatch(`a copy answers ${made}`);
    const { caller, graphId, shape, faults } = this.thread;
    const copy = new Sights(caller, graphId, shape, faults);
    copy.threadId = made.thread_id;
    this.#left.push(this.thread);
    if (this.#pruned.has(this.thread)) this.#pruned.add(copy);
    this.thread = copy;
  }

  /** The rule of the work's graph: another limit, another match, a pause, or none. */
  async #rule(word: string | undefined): Promise<void> {
    const { caller, graphId } = this.thread;
    const rules = [
      { match: { assistant: graphId }, paused: true },
      { match: { assistant: graphId }, concurrency: 1 },
      { match: { assistant: graphId, thread: crypto.randomUUID() }, paused: true },
      { match: { assistant: graphId }, concurrency: 5 },
      undefined,
    ];
    const body = choose(rules, word);
    const options = body ? { method: "PUT", body } : { method: "DELETE" };
    await caller.fetch(`/api/v1/flow/rules/${graphId}`, options);
  }

  /** A run that begins and is rolled back leaves the thread as it was. */
  async #rollBack(second: string | undefined): Promise<void> {
    await this.#settle();
    if ((await this.#runs()).some(({ status }) => OPEN.includes(status))) return;
    const { thread } = this;
    const before = await readRest(thread);
    const node = choose(["speak", "close"] as const, second) ?? "close";
    gates.close(thread.graphId, node);
    const run = await this.#start(this.#say(false));
    if (run === undefined) throw new Mismatch("a run on a thread at rest is refused");
    this.#mayBeGone.add(run);
    await thread.waitUntilReached(node);
    await thread.call(`${thread.path}/runs/${run}/cancel?wait=1&action=rollback`, { method: "POST" });
    this.#open();
    expectSame("the thread after a rollback", await readRest(thread), before);
  }

  /** Gates are open, no rule holds a run back, and nothing is in flight. */
  async #settle(thread = this.thread): Promise<void> {
    gates.open(thread.graphId);
    await thread.caller.fetch(`/api/v1/flow/rules/${thread.graphId}`, { method: "DELETE" });
    for (let left = LOOKS; ; left -= 1) {
      const shown = await thread.json<{ status: string }>(thread.path);
      if (typeof shown === "number") throw new Mismatch(`GET /threads/{id} answers ${shown}`);
      if (shown.status !== "busy") return;
      if (left === 0) throw new Mismatch("the thread stays busy");
      await pause(10);
    }
  }

  async #check(thread: Sights): Promise<void> {
    const runs = await this.#runs(thread);
    const there = new Set(runs.map(({ run_id }) => run_id));
    const gone = this.#accepted
      .filter(({ run, thread: own }) => own === thread && !there.has(run))
      .map(({ run }) => run);
    const lost = gone.find((run) => !this.#mayBeGone.has(run));
    if (lost !== undefined) throw new Mismatch("a run that was accepted is lost");
    await checkLaws(thread, gone, !this.#pruned.has(thread));
    // The stream of a run that waits until it is due has no end.
    const begun = runs.filter(({ status }) => status !== "pending");
    const frames = await Promise.all(begun.map(({ run_id }) => thread.frames(run_id)));
    await checkReplay(
      thread,
      frames.reduce((texts, one) => classicTexts(one, texts), new Map<string, string>()),
    );
  }

  /** At the end: each thread obeys the laws, and every request that was accepted has one outcome. */
  async end(): Promise<void> {
    for (const thread of [...this.#left, this.thread]) {
      for (const { run, thread: own } of this.#accepted) {
        if (own !== thread) continue;
        const found = await thread.json<{ status: string }>(`${thread.path}/runs/${run}`);
        const isLater = typeof found !== "number" && found.status === "pending";
        if (isLater) await thread.call(`${thread.path}/runs/${run}/cancel?wait=0`, { method: "POST" });
      }
      await this.#settle(thread);
      await this.#check(thread);
    }
    for (const { run, thread } of this.#accepted)
      await eventually(
        async () => {
          const hooks = listHooks(run);
          if (hooks.length !== 1) throw new Mismatch(`a run has ${hooks.length} webhooks instead of one`);
          const found = await thread.json<{ status: string }>(`${thread.path}/runs/${run}`);
          const status = typeof found === "number" ? hooks[0] : found.status;
          expectSame("the status in a run's webhook", hooks[0], status);
        },
        () => thread.alarms(),
      );
    if (this.thread.faults.length > 0) throw new Mismatch(this.thread.faults.join("; "));
  }
}
