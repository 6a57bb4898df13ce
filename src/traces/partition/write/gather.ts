/** Group commit: a transaction costs a dozen statements and rows besides its runs, so writes that can wait share one. */
import type { RunWrite } from "../../types.ts";
import { weighWrite } from "../../weight.ts";

interface Waiting {
  writes: RunWrite[];
  done: () => void;
  failed: (error: unknown) => void;
}

/** Milliseconds that writes gather. */
const GATHER_MS = 100;
/** The most waiting runs, and the most weight of them (`weighWrite`). */
const MOST = 100;
const MOST_WEIGHT = 4 * 1024 * 1024;

export class Gather {
  #waiting: Waiting[] = [];
  #runs = 0;
  #weight = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `apply` writes runs, or throws. It must be idempotent. */
  constructor(private readonly apply: (writes: RunWrite[]) => void) {}

  /** Resolves when the writes are applied, together with all later ones in the batch; rejects when they cannot be. */
  async add(writes: RunWrite[]): Promise<void> {
    const applied = new Promise<void>((done, failed) => this.#waiting.push({ writes, done, failed }));
    this.#runs += writes.length;
    for (const write of writes) this.#weight += weighWrite(write);
    if (this.#runs >= MOST || this.#weight >= MOST_WEIGHT) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), GATHER_MS);
    return applied;
  }

  /** Applies what waits. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    this.#waiting = [];
    this.#runs = this.#weight = 0;
    try {
      this.apply(waiting.flatMap(({ writes }) => writes));
      for (const { done } of waiting) done();
    } catch {
      // A batch that cannot be written must not block the others.
      for (const one of waiting) this.#alone(one);
    }
  }

  #alone({ writes, done, failed }: Waiting): void {
    try {
      this.apply(writes);
      done();
    } catch (error) {
      failed(error);
    }
  }
}
