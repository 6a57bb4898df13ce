/** Push notifications: their configuration, and the calls that the thread's outbox sends. */
import { sha256 } from "../../lib/crypto.ts";
import { database } from "../../db/client.ts";
import { webhookFault } from "../../http/addresses.ts";
import { serverAddress } from "../../http/context.ts";
import type { Delivery as HookCall } from "../../deliveries/send.ts";
import type { OnTask, TaskEffect } from "../../threads/runs/outbox.ts";
import type { Json } from "../../lib/json.ts";
import { threadStub } from "../../threads/remote.ts";
import type { TaskView } from "../../threads/types.ts";
import { type A2aCall, taskContext, params, project, toTaskId, findTask } from "./call.ts";
import { pushConfig, wrappedTask } from "./dialect.ts";
import { invalidParams, pushConfigNotFound } from "./errors.ts";
import { readTask } from "./follow.ts";
import { mayRespond, offerLinks } from "./links.ts";
import { PushQuery, SetPush } from "./schema.ts";
import { type A2aGeneration, isSettled, type PushConfig, type A2aTask } from "./types.ts";

/** How many receivers one task may have. */
const MAX_RECEIVERS = 10;

/** What the thread stores: the receiver, and the generation of the format. */
interface Hook {
  generation: A2aGeneration;
  config: PushConfig & { id: string };
  /** This server's, as who set the receiver has it, for links to answer. Absent where they may not answer. */
  address?: string;
}

/** The id of a task's first configuration without one: clients of 0.3 read it by this name. */
const FIRST_ID = "default";

/** The configuration as the thread keeps it. Without an id of its own it gets one that is not among the `taken` ones. */
export function toHook(
  { c, generation }: A2aCall,
  push: PushConfig,
  taken: TaskView["hooks"],
  answers = true,
): { id: string; hook: Json } {
  const fault = webhookFault(push.url, c.env.ALLOW_PRIVATE_ADDRESSES === "true");
  if (fault) throw invalidParams(`The push notification's url ${fault}.`);
  const id = push.id ?? (Object.hasOwn(taken, FIRST_ID) ? crypto.randomUUID() : FIRST_ID);
  const hook: Hook = { generation, config: { ...push, id }, ...(answers && { address: serverAddress(c) }) };
  return { id, hook: { ...hook } };
}

/** One more receiver of a task, or a new configuration for one of the same id. */
export async function setPush(call: A2aCall, given: unknown): Promise<unknown> {
  const { taskId, config } = params(SetPush, given);
  const { ref, view } = await findTask(call, taskId, "update");
  const { id, hook } = toHook(call, config, view.hooks, await mayRespond(call, taskId));
  await ref.thread.setHook(ref.runId, id, hook, MAX_RECEIVERS);
  return pushConfig({ ...config, id }, ref.ids.taskId, call.generation);
}

const listHooks = (hooks: Record<string, Json>) => Object.values(hooks).map((hook) => hook as unknown as Hook);

/** A configuration as it is read back: without the credentials. */
function toWireHook({ config }: Hook, taskId: string, generation: A2aGeneration): Json {
  const { authentication, ...rest } = config;
  return pushConfig(
    { ...rest, authentication: authentication && { scheme: authentication.scheme } },
    taskId,
    generation,
  );
}

/** Without an id: the only one, or the first. */
export async function getPush(call: A2aCall, given: unknown): Promise<unknown> {
  const { taskId, id } = params(PushQuery, given);
  const { ref, view } = await findTask(call, taskId);
  const hook = listHooks(view.hooks).find(({ config }) => id === undefined || id === "" || config.id === id);
  if (!hook) throw pushConfigNotFound();
  return toWireHook(hook, ref.ids.taskId, call.generation);
}

/** All receivers of a task. 0.3 has a bare list, 1.0 a page. */
export async function listPush(call: A2aCall, given: unknown): Promise<unknown> {
  const { taskId } = params(PushQuery, given);
  const { ref, view } = await findTask(call, taskId);
  const configs = listHooks(view.hooks).map((hook) => toWireHook(hook, ref.ids.taskId, call.generation));
  return call.generation === "0.3" ? configs : { configs, nextPageToken: "" };
}

/** Ends a receiver's notifications; safe to repeat. */
export async function deletePush(call: A2aCall, given: unknown): Promise<unknown> {
  const { taskId, id } = params(PushQuery, given);
  if (!id) throw invalidParams("Name the configuration to delete.");
  const { ref } = await findTask(call, taskId, "update");
  await ref.thread.setHook(ref.runId, id, undefined, MAX_RECEIVERS);
  return call.generation === "0.3" ? null : {};
}

/** Updates the task list when a task's run ends, or gives the call that tells a receiver the task's state. */
export const pushTask: OnTask = async (env, effect) => {
  const { workspaceId, threadId, task_id, hook } = effect;
  const thread = threadStub(env, workspaceId, threadId);
  const view = await thread.task(task_id);
  const [first] = view?.runs ?? [];
  if (!view || !first) return undefined;
  const ids = { taskId: toTaskId(threadId, task_id), contextId: taskContext(view) };
  const { reducer } = await readTask({ thread, runId: task_id, ids }, view);
  const task = reducer.task();
  if (hook === undefined) {
    await project(database(env.DB), workspaceId, first.assistant_id, task);
    return undefined;
  }
  const receiver = Object.hasOwn(view.hooks, hook) ? (view.hooks[hook] as unknown as Hook) : undefined;
  if (!receiver || isOvertaken(effect, view, task)) return undefined;
  const { address } = receiver;
  if (address !== undefined) await offerLinks({ env, workspaceId, address }, ids.taskId, reducer);
  return notification(effect, receiver, reducer.task());
};

/** The task has changed again since: a later effect sends its current state. A deleted run is not in the task: none follows. */
function isOvertaken({ run_id, began }: TaskEffect, { runs }: TaskView, { status }: A2aTask): boolean {
  const place = runs.findIndex((run) => run.run_id === run_id);
  return (place >= 0 && place < runs.length - 1) || (began === true && isSettled(status.state));
}

/**
 * Signed like other webhooks of the workspace, in addition to the receiver's own credentials. Another attempt of the
 * same effect has the same delivery id.
 */
function notification(effect: TaskEffect, { generation, config }: Hook, task: A2aTask): HookCall<never> {
  const { url, token, authentication } = config;
  const { scheme, credentials } = authentication ?? {};
  const headers = {
    "content-type": generation === "0.3" ? "application/json" : "application/a2a+json",
    ...(generation === "1.0" && { "a2a-version": "1.0" }),
    ...(token && { "x-a2a-notification-token": token }),
    ...(scheme && credentials && { authorization: `${scheme} ${credentials}` }),
  };
  const delivery = sha256(JSON.stringify(effect)).slice(0, 32);
  return { url, delivery, headers, body: JSON.stringify(wrappedTask(task, generation)) };
}
