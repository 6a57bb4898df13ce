/**
 * How far a log is written, durable and visible. Readers see a fact when it is durable, and a token when all facts before
 * it are. The order of events is therefore the same for every reader.
 */

/**
 * The most tokens that readers see before they are durable, and the numbers that are left out after a process has stopped
 * in a run: no number that a reader has seen is given out again.
 */
export const MOST_UNWRITTEN = 100_000;

export class Watermarks {
  /** The last sequence number that is in the tables. */
  written: number;
  #durable: number;
  /** The numbers of the facts that are not durable. */
  #facts: number[] = [];

  constructor(seq: number) {
    this.written = this.#durable = seq;
  }

  addFact(seq: number): void {
    this.#facts.push(seq);
  }

  /** Whether a fact waits to be written. */
  get factWaits(): boolean {
    return (this.#facts.at(-1) ?? 0) > this.written;
  }

  /** The last number that readers see of a log that has given out numbers up to `seq`. */
  visible(seq: number): number {
    const fact = this.#facts[0] ?? Infinity;
    return Math.max(this.#durable, Math.min(seq, fact - 1, this.#durable + MOST_UNWRITTEN - 1));
  }

  /** Everything up to here is durable. */
  confirm(seq: number): void {
    this.#durable = Math.max(this.#durable, seq);
    this.#facts = this.#facts.filter((fact) => fact > this.#durable);
  }

  /** The facts after `seq` were not written. */
  dropAfter(seq: number): void {
    this.#facts = this.#facts.filter((fact) => fact <= seq);
  }
}
