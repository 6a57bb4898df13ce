/**
 * A memory budget that concurrent requests share. An isolate has 128 MB and serves many requests at a time, so a limit per
 * request is not enough.
 */
import { Problem } from "../lib/problem.ts";

/** How long a request waits for memory before it is refused, and the interval between two checks, milliseconds. */
const PATIENCE_MS = 10_000;
const LOOK_MS = 20;
/** A claim that has not changed for this long is dropped: the platform has ended its request. Milliseconds. */
const ABANDONED_MS = 60_000;

export class Budget {
  /** Oldest first. */
  readonly #claims = new Set<Claim>();

  /**
   * All claims together hold at most `shared` bytes, except that the oldest claim is always admitted. This prevents two
   * half-read bodies from waiting for each other. The total is at most `shared` plus the most that one request may hold.
   */
  constructor(private readonly shared: number) {}

  /** The bytes held by all claims. */
  get held(): number {
    return [...this.#claims].reduce((sum, { held }) => sum + held, 0);
  }

  /** Opens an empty claim. The caller must release it when its request ends or fails. */
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

/** The bytes that one request holds. */
export class Claim {
  held = 0;
  /** The time of the last change or attempt to change, milliseconds. */
  moved = Date.now();

  constructor(
    private readonly admits: (bytes: number) => boolean,
    readonly release: () => void,
  ) {}

  /** Sets the held bytes. Waits for memory when they grow. @throws Problem 503 after ten seconds. */
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
