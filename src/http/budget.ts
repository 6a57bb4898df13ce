/**
 * A share of the isolate's memory. One isolate has 128 MB and serves many requests at a time, so a limit for each of them
 * is not enough: what they hold together has to be bounded.
 */
import { Problem } from "./problem.ts";

/** How long a request waits for memory before it is refused, milliseconds, and how often it looks. */
const PATIENCE_MS = 10_000;
const LOOK_MS = 20;
/** A claim that has not moved for this long belongs to a request that the platform has ended, milliseconds. */
const ABANDONED_MS = 60_000;

export class Budget {
  /** Oldest first. */
  readonly #claims = new Set<Claim>();

  /**
   * `shared` bytes for all claims together. The oldest claim is always admitted, so that two half-read bodies never wait
   * for each other: at most `shared` bytes and what one request may hold are held at a time.
   */
  constructor(private readonly shared: number) {}

  /** Bytes held now. */
  get held(): number {
    return [...this.#claims].reduce((sum, { held }) => sum + held, 0);
  }

  /** A claim of nothing yet. Release it when its request ends, however it ends. */
  claim(): Claim {
    const claim = new Claim(
      (bytes) => this.#admits(claim, bytes),
      () => this.#claims.delete(claim),
    );
    this.#claims.add(claim);
    return claim;
  }

  #admits(claim: Claim, bytes: number): boolean {
    const now = Date.now();
    for (const other of this.#claims) if (now - other.moved > ABANDONED_MS) this.#claims.delete(other);
    const [oldest] = this.#claims;
    return claim === oldest || this.held + bytes <= this.shared;
  }
}

/** What one request holds of a budget. */
export class Claim {
  held = 0;
  /** When it last changed or asked to, milliseconds. */
  moved = Date.now();

  constructor(
    private readonly admits: (bytes: number) => boolean,
    readonly release: () => void,
  ) {}

  /** Holds `bytes` from now on. For more than before, waits until others hold less. @throws Problem 503 after ten seconds. */
  async hold(bytes: number): Promise<void> {
    const until = Date.now() + PATIENCE_MS;
    this.moved = Date.now();
    while (bytes > this.held && !this.admits(bytes - this.held)) {
      if (this.moved >= until) {
        throw new Problem(503, "The server holds as many requests as its memory allows. Send this one again.", {
          headers: { "retry-after": "2" },
        });
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      this.moved = Date.now();
    }
    this.held = bytes;
  }
}
