/**
 * One clock for cases that run at the same time: it jumps to the earliest moment that a case waits for, once all cases wait.
 * A case that works therefore never sees a jump.
 */
import { jump } from "../support/clock.ts";

interface Sleeper {
  until: number;
  wake: () => void;
}

export class SharedClock {
  #working = 0;
  #sleepers: Sleeper[] = [];
  readonly #queue: (() => void)[] = [];

  constructor(readonly most: number) {}

  /** Does the work as one of at most `most` cases that work at the same time. */
  async work(task: () => Promise<void>): Promise<void> {
    await this.#enter();
    try {
      await task();
    } finally {
      this.#leave();
    }
  }

  /** Resolves when the clock has passed this many milliseconds. */
  async sleep(ms: number): Promise<void> {
    const slept = new Promise<void>((wake) => this.#sleepers.push({ until: Date.now() + ms, wake }));
    this.#leave();
    await slept;
    await this.#enter();
  }

  async #enter(): Promise<void> {
    if (this.#working < this.most) {
      this.#working += 1;
      return;
    }
    await new Promise<void>((resolve) => this.#queue.push(resolve));
  }

  #leave(): void {
    const next = this.#queue.shift();
    if (next) return next();
    this.#working -= 1;
    if (this.#working === 0) this.#jump();
  }

  #jump(): void {
    if (this.#sleepers.length === 0) return;
    const earliest = Math.min(...this.#sleepers.map(({ until }) => until));
    if (earliest > Date.now()) jump(earliest - Date.now());
    const due = this.#sleepers.filter(({ until }) => until <= Date.now());
    this.#sleepers = this.#sleepers.filter((one) => !due.includes(one));
    for (const { wake } of due) wake();
  }
}
