/**
 * Bounds the work and the output of a whole request with what the request names itself: a schema, a template, paths. Work is counted,
 * because the clock of a Worker stands still while it computes. Parts that are bounded one by one may still multiply.
 */
import { Problem } from "./problem.ts";

/** Values, comparisons and pieces of text looked at, of which one takes 30 to 100 ns: by the request, and between two pauses. */
const MAX_STEPS = 20_000_000;
const MAX_STEPS_AT_ONCE = 2_000_000;
/** Steps after which other requests of the isolate get their turn. */
const STEPS_BEFORE_PAUSE = 200_000;
/** Characters of what is made. An isolate has 128 MB. */
const MAX_WRITTEN = 8_000_000;

class WorkBudgetExceeded extends Problem {}

export class WorkBudget {
  #steps = 0;
  #sincePause = 0;
  #written = 0;

  /** `what`: what is done, as the subject of a sentence. `lower`: what the caller can do, as a sentence. */
  constructor(
    private readonly what: string,
    private readonly lower: string,
  ) {}

  /** Counts steps before they are taken. @throws Problem 422 past the budget */
  spend(steps: number): void {
    this.#steps += steps;
    this.#sincePause += steps;
    if (this.#steps > MAX_STEPS || this.#sincePause > MAX_STEPS_AT_ONCE) throw this.#exceeded("takes too much work");
  }

  /** Counts characters before they are written. @throws Problem 422 past the budget */
  write(characters: number): void {
    this.#written += characters;
    if (this.#written > MAX_WRITTEN) throw this.#exceeded(`makes more than ${MAX_WRITTEN} characters`);
  }

  /** Between two items: lets other requests of the isolate go on after much work. */
  async pause(): Promise<void> {
    if (this.#sincePause <= STEPS_BEFORE_PAUSE) return;
    await new Promise((resolve) => setTimeout(resolve));
    this.#sincePause = 0;
  }

  #exceeded(how: string): WorkBudgetExceeded {
    return new WorkBudgetExceeded(422, `${this.what} ${how}. ${this.lower}`);
  }
}

/** The result of the work; undefined when its budget ends before. */
export function tryWithin<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof WorkBudgetExceeded) return undefined;
    throw error;
  }
}
