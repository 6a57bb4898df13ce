/** Consumes queue messages of exports. A message is only a wake-up: the ledger in D1 holds the state. */
import * as v from "valibot";
import { StoreError } from "./s3/errors.ts";
import { advance, noteJobFailure } from "./advance.ts";
import { type Deps, createDeps, type ExportMessage } from "./deps.ts";
import { findJob } from "./ledger/jobs.ts";
import { INTERRUPTED } from "./ledger/lease.ts";

/**
 * Failed deliveries of a message before it counts as a failed attempt. `max_retries` in wrangler.toml must not be
 * lower.
 */
const MOST_DELIVERIES = 5;

const MessageShape = v.union([
  v.strictObject({ exportId: v.string() }),
  v.strictObject({ runId: v.string(), destinationId: v.optional(v.string()) }),
]);

/** True for a message of exports. The queue's name does not matter. */
export const isExportMessage = (message: Message): message is Message<ExportMessage> =>
  v.is(MessageShape, message.body);

/** Handles messages one after the other. */
export async function consumeExports(messages: Message<ExportMessage>[], env: Env): Promise<void> {
  const deps = createDeps(env);
  for (const message of messages) {
    if (message.attempts > MOST_DELIVERIES) await noteDeath(deps, message.body);
    else await handleInTurn(deps, message.body);
    await deps.at("before ack");
    message.ack();
  }
}

async function handleInTurn(deps: Deps, sent: ExportMessage): Promise<void> {
  if ("exportId" in sent) return advance(deps, sent);
  const destination = sent.destinationId ?? sent.runId;
  const wait = deps.slots.take(destination, deps.now());
  if (wait > 0) return deps.send(sent, Math.ceil(wait / 1000));
  try {
    await advance(deps, sent);
  } finally {
    deps.slots.give(destination);
  }
}

/**
 * Counts a failed attempt of an export whose message failed five times. For a run, the next claim counts the attempt and the
 * sweep sends a new message.
 */
async function noteDeath(deps: Deps, sent: ExportMessage): Promise<void> {
  if (!("exportId" in sent)) return;
  const job = await findJob(deps.db, sent.exportId);
  if (job?.status === "RUNNING") await noteJobFailure(deps, job, new StoreError(INTERRUPTED, "Interrupted", false));
}
