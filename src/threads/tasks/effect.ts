/** What other folders do when a task changes. */
import type { Call } from "../../deliveries/send.ts";

/**
 * What has happened to a task: a run of it ended or began, it was cancelled, or a hook was set on it while it rested.
 * `hook` is the id of the hook, if any.
 */
export interface TaskEffect {
  workspaceId: string;
  threadId: string;
  task_id: string;
  run_id: string;
  began?: boolean;
  hook?: string;
}

/**
 * What a change of a task leads to: with a hook, the call of its receiver, unless a later effect overtakes it. Called at
 * least once for each change.
 */
export type OnTask = (env: Env, effect: TaskEffect) => Promise<Call | undefined>;
