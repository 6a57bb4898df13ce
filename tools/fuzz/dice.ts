/** Choices that a seed repeats. */
import { generator } from "../../test/support/random.ts";

export class Dice {
  readonly next: () => number;
  /** How often a value of a schema is replaced by a hostile one: in half of the requests never. */
  readonly faulty: number;

  constructor(seed: number) {
    this.next = generator(seed);
    this.faulty = this.pick([0, 0, 0, 0.02, 0.02, 0.1]);
  }

  /** The choices of one request of a run: independent of all others. */
  static of(seed: number, index: number): Dice {
    return new Dice(Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(index + 1, 0xc2b2ae35));
  }

  /** A whole number from `low` to `high`, both included. */
  int(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(from: readonly T[]): T {
    return from[this.int(0, from.length - 1)] as T;
  }

  /** Up to `most` of what `make` gives. */
  some<T>(most: number, make: () => T): T[] {
    return Array.from({ length: this.int(0, most) }, make);
  }

  uuid(): string {
    const hex = Array.from({ length: 32 }, () => this.int(0, 15).toString(16)).join("");
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
  }
}
