/** What the steps of a case work on: the same program on the product and on the model. */
import type { Random } from "../../support/random.ts";
import type { Case } from "./dimensions.ts";
import { toText, type Value } from "./json.ts";
import { Project } from "./model.ts";
import { Programs } from "./programs.ts";
import type { Feedback, Write } from "./run.ts";
import type { Weir } from "./weir.ts";

export class World {
  readonly project = new Project("main");
  /** A project beside it, of which nothing is deleted. */
  readonly other = new Project("other");
  readonly programs: Programs;
  /** The runs under test, without fillers. */
  writes: Write[] = [];
  /** Links to shared traces, with the project of each. */
  readonly links: { project: Project; trace: string; token: string }[] = [];
  /** What differs, of all comparisons. */
  readonly differences: string[] = [];
  #feedback = 0;

  constructor(
    readonly given: Case,
    readonly weir: Weir,
    readonly random: Random,
    readonly today: number,
  ) {
    this.programs = new Programs(given, this.project.name, random, today);
  }

  get session(): string {
    return this.weir.id(this.project.name);
  }

  /** Compares, and notes a difference: the case continues. */
  async note(compare: () => Promise<void>): Promise<void> {
    try {
      await compare();
    } catch (error) {
      this.differences.push(error instanceof Error ? error.message : String(error));
    }
  }

  /** Sends writes, and takes them into the model. */
  async send(writes: readonly Write[], how: Case["ingestion"] = this.given.ingestion): Promise<void> {
    await this.weir.send(writes, how, this.random);
    this.project.take(writes);
  }

  /** Gives feedback on a run that begins then. It is refused for a deleted trace. */
  async give(runId: string, start: string): Promise<void> {
    const n = this.#feedback++;
    const hex = Array.from({ length: 12 }, () => this.random.between(0, 16).toString(16)).join("");
    const feedback: Feedback = {
      id: `00000000-0000-4000-8000-${hex}`,
      runId,
      key: ["stars", "mood", "constructor"][n % 3] as string,
      score: n % 4 === 3 ? null : n % 6,
      value: n % 4 === 3 ? "good" : null,
    };
    const status = await this.weir.give(this.project.name, feedback, start);
    const taken = !this.project.isDeleted && this.project.give(feedback);
    if (taken !== (status === 200) || status >= 500)
      this.differences.push(`feedback on ${runId}: ${status}, must be ${taken ? "taken" : "refused"}`);
  }

  /** @throws Error unless the answer has this status */
  async expectStatus(status: number, path: string, options: { method?: string; body?: Value } = {}): Promise<void> {
    const body = options.body === undefined ? undefined : toText(options.body);
    const real = await this.weir.status(path, { ...options, ...(body !== undefined && { body }) });
    if (real !== status) throw new Error(`${options.method ?? ""} ${path}: ${real}, must be ${status}`);
  }
}
