/** Group commit: a transaction costs a dozen statements and rows besides its runs, so writes that can wait share one. */
import type { RunWrite } from "../rpc.ts";

interface Waiting {
  writes: RunWrite[];
  done: () => void;
  failed: (error: unknown) => void;
}

/** Milliseconds that writes gather. */
const GATHER_MS = 100;
/** Runs that wait at most. */
const MOST = 100;

export class Gather {
  #waiting: Waiting[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `apply` writes runs in one transaction, or throws and has written nothing. */
  constructor(private readonly apply: (writes: RunWrite[]) => void) {}

  /** Resolves when the writes are applied, with whatever else came in the meantime; rejects when they cannot be. */
  async add(writes: RunWrite[]): Promise<void> {
    const applied = new Promise<void>((done, failed) => this.#waiting.push({ writes, done, failed }));
    if (this.#waiting.reduce((sum, one) => sum + one.writes.length, 0) >= MOST) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), GATHER_MS);
    return applied;
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const waiting = this.#waiting;
    this.#waiting = [];
    try {
      this.apply(waiting.flatMap(({ writes }) => writes));
      for (const { done } of waiting) done();
    } catch {
      // Whoever cannot be written must not keep the others from it.
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
