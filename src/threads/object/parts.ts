/** What a thread's object is made of when it wakes. */
import { isNewer, newerFormat } from "../../lib/object-tables.ts";
import { isKeyDestroyed, type Ring, UnknownKey } from "../../access/encryption/ring.ts";
import { armAlarm } from "./alarm.ts";
import { ThreadContext } from "../context.ts";
import { Sleepers } from "../log/sleepers.ts";
import { readRecord } from "../record.ts";
import { Runner } from "../runs/runner.ts";
import { questionsFor, takeAnswer } from "../interrupts/links/webhook.ts";
import { removeThread } from "../search/store.ts";
import { Tables } from "../store/tables.ts";
import { Vault } from "../storage/vault.ts";
import type { OnTask } from "../tasks/effect.ts";
import { Outbox } from "../runs/outbox.ts";
import { idsIn } from "../thread-id.ts";

export interface Parts {
  context: ThreadContext;
  outbox: Outbox;
  runner: Runner;
  sleepers: Sleepers;
}

interface Means {
  ring: Ring;
  onTask: OnTask;
  /** The outbox of the thread that the object had until now. */
  before?: Outbox;
}

/** Reads the thread. An error that every call answers when it cannot be read: a newer version wrote it, or its key is destroyed. */
export function readParts(ctx: DurableObjectState, env: Env, { ring, onTask, before }: Means): Parts | Error {
  try {
    const tables = new Tables(ctx.storage, new Vault(idsIn(ctx.id).threadId, ring));
    const record = readRecord(tables);
    if (isNewer(record?.format, "thread")) return newerFormat();
    const context = new ThreadContext(ctx, env, tables, record);
    const outbox = new Outbox(context, onTask, before);
    const runner = new Runner(context, outbox, () => armAlarm(context, runner));
    outbox.questions = {
      askedBy: (run) => questionsFor(context, runner, run),
      take: (asked, answer) => takeAnswer(context, runner, asked, answer),
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
export const isLost = (parts: Parts | Error): boolean => isKeyDestroyed(parts) && !(parts instanceof UnknownKey);

/** Deletes a thread whose key is destroyed, with its row in the index. What its outbox held cannot be read either. */
export async function removeUnread({ id, storage }: DurableObjectState, env: Env): Promise<true> {
  const { workspaceId, threadId } = idsIn(id);
  await storage.deleteAlarm();
  await storage.deleteAll();
  await removeThread(env, workspaceId, threadId);
  return true;
}
