/** The end of a partition. Writes that come while it is destroyed are refused: they would be acknowledged and then deleted. */
import { remoteProblem } from "../../lib/problem.ts";
import type { RunWrite } from "../types.ts";
import { hasBlobs, UPLOAD_MS } from "./blobs.ts";
import { writeMeta } from "./store/meta.ts";

export class Ending {
  /** Set until it is over. */
  #running: Promise<void> | undefined;
  /** When this instance ended last, milliseconds. */
  #last: { at: number } | undefined;

  /** `isMarked`: it began before a restart or a failure, and its objects in R2 may be gone in part. */
  constructor(private isMarked = false) {}

  get isOn(): boolean {
    return this.isMarked || this.#running !== undefined;
  }

  /** Notes durably that it has begun, so that a failure or a restart does not let writes in. */
  mark(sql: SqlStorage): void {
    writeMeta(sql, "ending", true);
    this.isMarked = true;
  }

  /** Destroys the partition by `destroy`, once at a time. */
  async run(destroy: () => Promise<void>): Promise<void> {
    this.#running ??= destroy()
      .then(() => {
        this.isMarked = false;
        this.#last = { at: Date.now() };
      })
      .finally(() => (this.#running = undefined));
    return this.#running;
  }

  /** @throws 503 */
  refuse(): void {
    if (this.isOn) throw destructionProblem();
  }

  /** Prepares a write. @throws 503 when the partition is destroyed at the same time */
  async refuseAround<T>(prepare: () => Promise<T>): Promise<T> {
    this.refuse();
    const last = this.#last;
    const prepared = await prepare();
    if (this.isOn || this.#last !== last) throw destructionProblem();
    return prepared;
  }

  /** Ingest stores objects in R2 before the writes that refer to them. @throws 503 when they were deleted in between */
  async refuseLost(bucket: R2Bucket, prefix: string, writes: RunWrite[]): Promise<void> {
    if (this.#last === undefined || Date.now() > this.#last.at + UPLOAD_MS) return;
    if (!(await hasBlobs(bucket, prefix, writes))) throw destructionProblem();
  }
}

const destructionProblem = () =>
  remoteProblem(503, "The traces of this day are being deleted. Send the request again.");
