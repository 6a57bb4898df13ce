/**
 * Which export runs this isolate works on. The isolate's 128 MB bound their number. Destinations share them: a store that
 * hangs must not hold all, and one customer's long export must not delay another's short one.
 */

/** A destination that was refused this long ago no longer waits: its message went to another isolate. Milliseconds. */
const WANTED_MS = 5_000;
/** Pauses after a store did not answer, milliseconds; each one after another is twice as long. */
const FIRST_PAUSE_MS = 60_000;
const LONGEST_PAUSE_MS = 900_000;

interface Pause {
  until: number;
  length: number;
}

export class Slots {
  readonly #held = new Map<string, number>();
  readonly #turnedAway = new Map<string, number>();
  readonly #pauses = new Map<string, Pause>();

  constructor(private readonly most: number) {}

  /**
   * Takes a slot for a destination and returns 0, or returns how many milliseconds to wait before asking again.
   * A destination gets a second slot while no other destination waits. One whose store hung gets one slot, for one try.
   */
  take(destination: string, now: number): number {
    const pause = this.#pauses.get(destination);
    if (pause && pause.until > now) return pause.until - now;
    const own = this.#held.get(destination) ?? 0;
    const total = [...this.#held.values()].reduce((sum, held) => sum + held, 0);
    if (total >= this.most || (own > 0 && (pause || this.isWanted(destination, now)))) {
      this.#turnedAway.set(destination, now);
      return 1_000;
    }
    this.#turnedAway.delete(destination);
    this.#held.set(destination, own + 1);
    return 0;
  }

  give(destination: string): void {
    const left = (this.#held.get(destination) ?? 1) - 1;
    if (left > 0) this.#held.set(destination, left);
    else this.#held.delete(destination);
  }

  /** Whether another destination waits for a slot. */
  isWanted(destination: string, now: number): boolean {
    for (const [other, since] of this.#turnedAway) {
      if (now - since > WANTED_MS) this.#turnedAway.delete(other);
      else if (other !== destination) return true;
    }
    return false;
  }

  /** The destination's store did not answer in time: its other runs need not wait for that too. */
  hung(destination: string, now: number): void {
    const before = this.#pauses.get(destination)?.length ?? FIRST_PAUSE_MS / 2;
    const length = Math.min(before * 2, LONGEST_PAUSE_MS);
    this.#pauses.set(destination, { until: now + length, length });
  }

  answered(destination: string): void {
    this.#pauses.delete(destination);
  }
}
