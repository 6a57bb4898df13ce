/** A case's thread twice: as it is, and as the model says it must be. */
import type { Random } from "../support/random.ts";
import type { Case } from "./dimensions.ts";
import * as gates from "./gates.ts";
import { type Model, type RunSpec } from "./model.ts";
import type { SharedClock } from "./shared-clock.ts";
import { type Change, changeRule, limit, takeSlots, wakeLimiter } from "./slots.ts";
import { formatRun } from "./sights.ts";
import { difference, modelValues } from "./views.ts";
import type { Start, Weir } from "./weir.ts";

/** A node that can be made to wait. */
export type Gate = "speak" | "ask" | "right" | "close";

/** What has been seen differs from what must be. */
export class Mismatch extends Error {}

export class World {
  /** Threads that the case has left: the sources of copies. */
  readonly left: { weir: Weir; model: Model }[] = [];
  /** Begins the Idempotency-Keys of the case. */
  readonly id = crypto.randomUUID();
  /** The address of the checkpoint where the last run began, if it is not the latest one. */
  forkedFrom: unknown;

  constructor(
    public weir: Weir,
    public model: Model,
    readonly given: Case,
    readonly random: Random,
    readonly clock: SharedClock,
  ) {}

  expect(what: string, real: unknown, wanted: unknown): void {
    const found = difference(real, wanted);
    if (found) throw new Mismatch(`${what}: ${found}`);
  }

  /** The values are so long that they are read seldom. */
  get heavy(): boolean {
    return this.given.values === "items" || this.given.values === "large";
  }

  /** Closes the gate of a node. */
  hold(node: Gate, how: "closed" | "stubborn" = "closed"): void {
    gates.close(this.weir.graphId, node, how);
    this.model.closed.add(node === "close" ? this.model.last : node);
  }

  /** Opens the gates. */
  release(): void {
    gates.open(this.weir.graphId);
    this.model.closed.clear();
    this.model.settle();
  }

  /** The run with what all runs of the case have: a command has no webhook and no durability. */
  complete(spec: RunSpec, { reader }: Start = {}): RunSpec {
    const durability = reader === "protocol" && !spec.breakpoint ? "async" : this.given.durability;
    return { ...spec, webhook: reader !== "protocol", durability };
  }

  async start(spec: RunSpec, how: Start = {}): Promise<void> {
    const { caller, graphId } = this.weir;
    const free = this.#meetsTakenSlots(spec) ? await takeSlots(caller, graphId) : undefined;
    const whole = this.complete(spec, how);
    const real = await this.weir.start(whole, how);
    const wanted = this.model.start(whole);
    if (free && real === 200) {
      await this.#expectWaiting(spec.name);
      const { slots } = this.given;
      if (slots !== "none" && slots !== "free" && slots !== "taken") await this.#changeRule(spec.name, slots, free);
    }
    await free?.();
    this.expect(`the request for ${spec.name}`, real, wanted);
  }

  /** A run that is the only one of its thread, and due, claims its slots at once. */
  #meetsTakenSlots({ afterMs, assistant }: RunSpec): boolean {
    const isLimited = assistant === undefined && this.given.slots !== "none" && this.given.slots !== "free";
    return isLimited && !afterMs && this.model.exists && this.model.open.length === 0;
  }

  async #expectWaiting(name: string): Promise<void> {
    if (!(await this.#looks(name, ({ status, position }) => status === "pending" && position !== undefined)))
      throw new Mismatch(`${name} does not wait for its slots`);
  }

  /** Looks at a run until it is so. */
  async #looks(name: string, isSo: (run: { status: string; position?: number }) => boolean): Promise<boolean> {
    const path = `${this.weir.path}/runs/${this.weir.ids.get(name) ?? ""}`;
    for (let tries = 0; tries < 500; tries += 1) {
      const run = await this.weir.json<{ status: string; position?: number }>(path);
      if (typeof run === "number") return false;
      if (isSo(run)) return true;
      await wakeLimiter(this.weir.caller);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return false;
  }

  /** The rule changes under a run that waits: it no longer holds the run back, or goes on to with all slots free. */
  async #changeRule(name: string, how: Change, free: () => Promise<void>): Promise<void> {
    const { caller, graphId } = this.weir;
    await changeRule(caller, graphId, how);
    if (how === "paused") {
      await free();
      await wakeLimiter(caller);
      await this.#expectWaiting(name);
    } else if (!(await this.#looks(name, ({ status }) => status !== "pending")))
      throw new Mismatch(`${name} waits for a rule that is ${how}`);
    await limit(caller, graphId);
  }

  /** The run ends, and its caller gets what the model says. */
  async finish(name: string): Promise<void> {
    const run = this.model.run(name);
    const real = await this.weir.result(name);
    // A run that was undone, or has never begun, has no result of its own.
    if (!run?.ran) return;
    const wanted = run.result
      ? { ...modelValues(run.result), asks: run.result.asks }
      : run.status === "error" || run.status === "timeout"
        ? "error"
        : `an end, but the model says ${run.status}`;
    // A function that pauses has no values yet.
    const asks = (result: unknown) => (result as { asks?: unknown }).asks;
    if (this.given.form === "functional" && run.result && run.result.asks.length > 0)
      return this.expect(`what ${name} asks`, asks(real), asks(wanted));
    this.expect(`the result of ${name}`, real, wanted);
  }

  /** Time passes for the server and for the model, and alarms come. */
  async advance(ms: number): Promise<void> {
    await this.clock.sleep(ms);
    await this.weir.alarms();
    for (const { weir } of this.left) await weir.alarms();
    this.model.advance(ms);
    for (const { model } of this.left) model.advance(ms);
  }

  /** All that requests show of the thread at rest. */
  async check(): Promise<void> {
    const { model, weir } = this;
    if (!model.exists) return this.#checkGone();
    const ttl = model.ttl && { strategy: model.ttl.strategy, ms: model.ttl.ms, left: model.ttl.expires - model.now };
    this.expect("GET /threads/{id}", await weir.thread(ttl?.left), {
      status: model.status,
      graph: model.owner,
      values: modelValues(model.values),
      asks: model.asks,
      ttl,
    });
    this.expect(
      "GET /runs",
      await weir.runs(),
      model.runs.map(({ name, status, assistant }) => formatRun(name, status, assistant)).sort(),
    );
    if (model.graph !== "works") {
      this.expect("GET /state", await weir.state(), 409);
      this.expect("GET /history", await weir.history(), 409);
      return;
    }
    this.expect("GET /state", await weir.state(), {
      values: modelValues(model.values),
      next: model.next,
      asks: model.asks,
    });
    this.expect("the questions of GET /state", weir.asked.state, weir.asked.thread);
    if (!this.heavy) await this.checkHistory();
  }

  async checkHistory(): Promise<void> {
    const wanted = this.model.checkpoints.toReversed().map(({ source, step, values, tasks, isOther }) => {
      const { log, said, doc } = modelValues(values);
      // A node that the graph has no more is next nowhere.
      const gone = isOther || this.model.last === "close" ? "" : "close";
      const next = tasks.map(({ node }) => node).filter((node) => node !== gone);
      return { source, step, next: next.sort(), log: log.join(), said: [said.length, said.at(-1)], doc };
    });
    this.expect("GET /history", await this.weir.history(), wanted);
  }

  async #checkGone(): Promise<void> {
    const { weir } = this;
    this.expect("GET /threads/{id} of a deleted thread", await weir.thread(), 404);
    this.expect("GET /state of a deleted thread", await weir.state(), 404);
    this.expect("GET /runs of a deleted thread", await weir.runs(), 404);
    this.expect("a search for a deleted thread", await weir.found(), []);
  }
}
