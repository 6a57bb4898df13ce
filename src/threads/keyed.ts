/** A Durable Object that reads and writes with the keys of its workspace. */
import { DurableObject } from "cloudflare:workers";
import { freshRing, isEarlier, ringFrom, loadRing } from "../access/encryption/keys.ts";
import { isSealed, type KeyRow, Ring } from "../access/encryption/ring.ts";
import { answerCall, type Answering } from "../lib/rpc.ts";
import { logError } from "../lib/log.ts";

export abstract class Keyed extends DurableObject<Env> implements Answering {
  protected ring: Ring;
  #isRead = false;
  /** Is called with the first call after the object has woken; not for an alarm. */
  protected onFirstCall: (() => void) | undefined;

  constructor(
    ctx: DurableObjectState,
    env: Env,
    private readonly workspaceId: string,
  ) {
    super(ctx, env);
    this.ring = new Ring(workspaceId);
  }

  /** `keys`: as the caller has read them, so that an object that wakes does not wait for D1. */
  async answer(method: string, args: unknown[], keys?: unknown): Promise<unknown> {
    await this.unlock(keys as KeyRow[] | undefined);
    this.onFirstCall?.();
    this.onFirstCall = undefined;
    return answerCall(this, method, args);
  }

  /** Other keys than before. `lost`: one that was there is destroyed, so nothing that is in memory may be used. */
  protected abstract rekey(lost: boolean): void;

  /** Begins the object: at once, or with the keys when texts like these are sealed. No event is delivered before. */
  protected begin(held: unknown[], start: () => void): void {
    if (!held.some(isSealed)) return start();
    void this.ctx.blockConcurrencyWhile(async () => {
      await this.#readFresh();
      start();
    });
  }

  /** An object that does not begin fails its alarm, too. So a failure is left to the next call, which has keys, and to the alarm. */
  async #readFresh(): Promise<void> {
    try {
      this.ring = await freshRing(this.env, this.workspaceId);
      this.#isRead = true;
    } catch (error) {
      this.#logUnread(error);
    }
  }

  #logUnread(error: unknown): void {
    logError(error, { object: this.ctx.id.name, while: "reading the keys of its workspace" });
  }

  /** Takes the keys of a call, or reads them: at most five seconds old, or none where the workspace had none before. */
  protected async unlock(rows?: KeyRow[]): Promise<void> {
    if (!rows && this.#isRead && !this.ring.isOn) return;
    const ring = rows ? await ringFrom(this.env, this.workspaceId, rows) : await loadRing(this.env, this.workspaceId);
    this.#isRead = true;
    if (ring.rows === this.ring.rows || isEarlier(ring.rows, this.ring.rows)) return;
    const lost = this.ring.hasLost(ring);
    this.ring = ring;
    this.rekey(lost);
  }

  /** The same for an alarm, which must not throw. */
  protected async unlocked(): Promise<boolean> {
    try {
      await this.unlock();
      return true;
    } catch (error) {
      this.#logUnread(error);
      return false;
    }
  }
}
