/** What a thread's object is made of when it wakes. */
import { newerFormat } from "../../lib/object-tables.ts";
import { isKeyDestroyed, Ring, UnknownKey, isSealed, type DataKeyRow } from "../../access/encryption/ring.ts";
import { armAlarm } from "./alarm.ts";
import { ThreadContext } from "../context.ts";
import { Sleepers } from "../log/sleepers.ts";
import { readRecord } from "../record.ts";
import { Runner } from "../runs/runner.ts";
import type { SentReaders } from "../runs/sent.ts";
import { interruptsForWebhook, acceptWebhookResponse } from "../interrupts/links/webhook-responses.ts";
import { removeThread } from "../search/store.ts";
import { Tables } from "../store/tables.ts";
import { TextVault } from "../store/long-text.ts";
import { type OnTask, Outbox } from "../runs/outbox.ts";
import { parseObjectName } from "../types.ts";
import { DurableObject } from "cloudflare:workers";
import { freshRing, isEarlier, ringFrom, loadRing } from "../../access/encryption/keys.ts";
import { dispatchRpc, type RpcTarget } from "../../lib/rpc.ts";
import { logError } from "../../lib/log.ts";

export interface ThreadParts {
  context: ThreadContext;
  outbox: Outbox;
  runner: Runner;
  sleepers: Sleepers;
}

interface PartsOptions {
  ring: Ring;
  onTask: OnTask;
  readers: SentReaders;
  /** The outbox of the thread that the object had until now. */
  before?: Outbox;
}

/** Reads the thread. An error that every call answers when it cannot be read: a newer version wrote it, or its key is destroyed. */
export function readThreadParts(
  ctx: DurableObjectState,
  env: Env,
  { ring, onTask, readers, before }: PartsOptions,
): ThreadParts | Error {
  try {
    const tables = new Tables(ctx.storage, new TextVault(parseObjectName(ctx.id).threadId, ring));
    if (tables.isNewer) return newerFormat();
    const record = readRecord(tables);
    const context = new ThreadContext(ctx, env, tables, record);
    const outbox = new Outbox(context, onTask, before);
    const runner = new Runner(context, outbox, () => armAlarm(context, runner), readers);
    outbox.webhookHooks = {
      interruptsOf: (run) => interruptsForWebhook(context, runner, run),
      respond: (asked, answer) => acceptWebhookResponse(context, runner, asked, answer),
    };
    return { context, outbox, runner, sleepers: new Sleepers(ctx, context.eventLog) };
  } catch (error) {
    if (isKeyDestroyed(error)) return error as Error;
    throw error;
  }
}

/**
 * Whether a key without which the thread cannot be read is destroyed. None of its runs is in flight again. `UnknownKey` is no such
 * error: the key may be newer than what the object has read.
 */
export const isUnreadable = (parts: ThreadParts | Error): boolean =>
  isKeyDestroyed(parts) && !(parts instanceof UnknownKey);

/** Deletes a thread whose key is destroyed, with its row in the index. What its outbox held cannot be read either. */
export async function removeUnreadable({ id, storage }: DurableObjectState, env: Env): Promise<true> {
  const { workspaceId, threadId } = parseObjectName(id);
  await storage.deleteAlarm();
  await storage.deleteAll();
  await removeThread(env, workspaceId, threadId);
  return true;
}

// A Durable Object that reads and writes with the keys of its workspace.

export abstract class EncryptedObject extends DurableObject<Env> implements RpcTarget {
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
  async dispatch(method: string, args: unknown[], keys?: unknown): Promise<unknown> {
    await this.unlock(keys as DataKeyRow[] | undefined);
    this.onFirstCall?.();
    this.onFirstCall = undefined;
    return dispatchRpc(this, method, args);
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
  protected async unlock(rows?: DataKeyRow[]): Promise<void> {
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
