/** A case's thread twice: as it is, and as the model says it must be. */
import type { Random } from "../support/random.ts";
import type { Case } from "./dimensions.ts";
import * as gates from "./gates.ts";
import { type Model, type RunSpec } from "./model.ts";
import type { SharedClock } from "./shared-clock.ts";
import { takeSlots } from "./slots.ts";
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

  async start(spec: RunSpec, how: Start = {}): Promise<void> {
    const webhook = how.reader !== "protocol";
    const free = this.#meetsTakenSlots(spec) ? await takeSlots(this.weir.caller, this.weir.graphId) : undefined;
    const real = await this.weir.start({ ...spec, webhook }, how);
    const wanted = this.model.start({ ...spec, webhook });
    if (free && real === 200) await this.#expectWaiting(spec.name);
    await free?.();
    this.expect(`the request for ${spec.name}`, real, wanted);
  }

  /** A run that is the only one of its thread, and due, claims its slots at once. */
  #meetsTakenSlots({ afterMs }: RunSpec): boolean {
    return this.given.slots === "taken" && !afterMs && this.model.exists && this.model.open.length === 0;
  }

  async #expectWaiting(name: string): Promise<void> {
    const path = `${this.weir.path}/runs/${this.weir.ids.get(name) ?? ""}`;
    for (let tries = 0; tries < 500; tries += 1) {
      const run = await this.weir.json<{ status: string; position?: number }>(path);
      if (typeof run === "number" || run.status !== "pending") break;
      if (run.position !== undefined) return;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    throw new Mismatch(`${name} does not wait for its slots`);
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
      values: modelValues(model.values),
      asks: model.asks,
      ttl,
    });
    this.expect("GET /runs", await weir.runs(), model.runs.map(({ name, status }) => `${name} ${status}`).sort());
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
    const wanted = this.model.checkpoints.toReversed().map(({ source, step, values, tasks }) => {
      const { log, said, doc } = modelValues(values);
      // A node that the graph has no more is next nowhere.
      const gone = this.model.last === "close" ? "" : "close";
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
