/** What other folders do when a task changes. */

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

/** What a change of a task leads to. Called at least once for each change. */
export type OnTask = (env: Env, effect: TaskEffect) => Promise<void>;
