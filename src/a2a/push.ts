/** Push notifications: their configuration, and their delivery out of the thread's outbox. */
import { sha256 } from "../auth/secret.ts";
import { database } from "../db/client.ts";
import { addressFault, webhookFault } from "../http/address.ts";
import type { TaskEffect } from "../threads/tasks/effect.ts";
import type { Json } from "../json.ts";
import { threadStub } from "../threads/stub.ts";
import type { TaskView } from "../threads/types.ts";
import { signedHeaders } from "../webhooks/sign.ts";
import { type Call, contextOf, params, project } from "./call.ts";
import { taskIdOf } from "./context.ts";
import { pushConfig, wrappedTask } from "./dialect.ts";
import { invalidParams, pushConfigNotFound } from "./errors.ts";
import { taskOf } from "./find.ts";
import { readTask } from "./follow.ts";
import { PushQuery, SetPush } from "./schema.ts";
import { type Generation, isSettled, type PushConfig, type Task } from "./types.ts";

/** How many receivers one task may have. */
const MOST = 10;
const REQUEST_TIMEOUT_MS = 20_000;

/** What the thread stores: the receiver, and the generation of the format. */
interface Hook {
  generation: Generation;
  config: PushConfig & { id: string };
}

/** The configuration as the thread keeps it. Without an id of its own it gets one. */
export function hookOf({ c, generation }: Call, push: PushConfig): { id: string; hook: Json } {
  const fault = webhookFault(push.url, c.env.ALLOW_PRIVATE_ADDRESSES === "true");
  if (fault) throw invalidParams(`The push notification's url ${fault}.`);
  const id = push.id ?? crypto.randomUUID();
  const hook: Hook = { generation, config: { ...push, id } };
  return { id, hook: { ...hook } };
}

/** One more receiver of a task, or a new configuration for one of the same id. */
export async function setPush(call: Call, given: unknown): Promise<unknown> {
  const { taskId, config } = params(SetPush, given);
  const { ref } = await taskOf(call, taskId, "update");
  const { id, hook } = hookOf(call, config);
  await ref.thread.setHook(ref.runId, id, hook, MOST);
  return pushConfig({ ...config, id }, ref.ids.taskId, call.generation);
}

const hooksOf = (hooks: Record<string, Json>) => Object.values(hooks).map((hook) => hook as unknown as Hook);

/** A configuration as it is read back: without the credentials. */
function toWireHook({ config }: Hook, taskId: string, generation: Generation): Json {
  const { authentication, ...rest } = config;
  return pushConfig(
    { ...rest, authentication: authentication && { scheme: authentication.scheme } },
    taskId,
    generation,
  );
}

/** Without an id: the only one, or the first. */
export async function getPush(call: Call, given: unknown): Promise<unknown> {
  const { taskId, id } = params(PushQuery, given);
  const { ref, view } = await taskOf(call, taskId);
  const hook = hooksOf(view.hooks).find(({ config }) => id === undefined || id === "" || config.id === id);
  if (!hook) throw pushConfigNotFound();
  return toWireHook(hook, ref.ids.taskId, call.generation);
}

/** All receivers of a task. 0.3 has a bare list, 1.0 a page. */
export async function listPush(call: Call, given: unknown): Promise<unknown> {
  const { taskId } = params(PushQuery, given);
  const { ref, view } = await taskOf(call, taskId);
  const configs = hooksOf(view.hooks).map((hook) => toWireHook(hook, ref.ids.taskId, call.generation));
  return call.generation === "0.3" ? configs : { configs, nextPageToken: "" };
}

/** Ends a receiver's notifications; safe to repeat. */
export async function deletePush(call: Call, given: unknown): Promise<unknown> {
  const { taskId, id } = params(PushQuery, given);
  if (!id) throw invalidParams("Name the configuration to delete.");
  const { ref } = await taskOf(call, taskId, "update");
  await ref.thread.setHook(ref.runId, id, undefined, MOST);
  return call.generation === "0.3" ? null : {};
}

/** Updates the task list when a task's run ends, or sends the task's state to a receiver. */
export async function onTask(env: Env, effect: TaskEffect): Promise<void> {
  const { workspaceId, threadId, task_id, hook } = effect;
  const thread = threadStub(env, workspaceId, threadId);
  const view = await thread.task(task_id);
  const [first] = view?.runs ?? [];
  if (!view || !first) return;
  const ids = { taskId: taskIdOf(threadId, task_id), contextId: contextOf(view) };
  const task = (await readTask({ thread, runId: task_id, ids }, view)).reducer.task();
  if (hook === undefined) return project(database(env.DB), workspaceId, first.assistant_id, task);
  const receiver = view.hooks[hook] as unknown as Hook | undefined;
  if (receiver && !isOvertaken(effect, view, task)) await notify(env, effect, receiver, task);
}

/** The task has changed again since: a later effect sends its current state. */
function isOvertaken({ run_id, began }: TaskEffect, { runs }: TaskView, { status }: Task): boolean {
  return runs.at(-1)?.run_id !== run_id || (began === true && isSettled(status.state));
}

/**
 * Signed like other webhooks of the workspace, in addition to the receiver's own credentials. Another attempt of the
 * same effect has the same delivery id.
 */
async function notify(env: Env, effect: TaskEffect, { generation, config }: Hook, task: Task): Promise<void> {
  const { url, token, authentication } = config;
  // The address was allowed when it was set, and no longer is. A retry would not help.
  if (addressFault(url, env.ALLOW_PRIVATE_ADDRESSES === "true")) return;
  const body = JSON.stringify(wrappedTask(task, generation));
  const delivery = sha256(JSON.stringify(effect)).slice(0, 32);
  const { scheme, credentials } = authentication ?? {};
  const headers = {
    "content-type": generation === "0.3" ? "application/json" : "application/a2a+json",
    ...(generation === "1.0" && { "a2a-version": "1.0" }),
    ...(token && { "x-a2a-notification-token": token }),
    ...(scheme && credentials && { authorization: `${scheme} ${credentials}` }),
    ...(await signedHeaders(env, effect.workspaceId, { delivery, body })),
  };
  const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
  const response = await fetch(url, {
    method: "POST",
    headers,
    body,
    redirect: "manual",
    signal,
  });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`The receiver of a push notification answered ${response.status}.`);
}
