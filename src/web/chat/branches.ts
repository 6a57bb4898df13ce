/** Where a thread's paths part, found from its checkpoints. The stream itself follows one path only. */
import type { RawMessage, ThreadState } from "../api/types.ts";

/** A checkpoint beside a message. */
export interface Checkpoint {
  id: string;
  at: string | undefined;
  /** The run that wrote it. */
  run: string | undefined;
}

export interface Fork {
  /** Which of the paths is shown, from 0. */
  index: number;
  /** The newest checkpoint of each path, oldest path first. */
  tips: string[];
}

interface Path {
  tip: string;
  ids: string[];
  /** Its place in time among all checkpoints: 0 is the newest. */
  age: number;
}

export const idsOf = (state: ThreadState) =>
  (state.values?.messages ?? []).flatMap((message: RawMessage) => (message.id ? [message.id] : []));

/**
 * The messages at which other paths begin, by message id. Paths are the checkpoints that nothing follows: comparing
 * *those* message by message is sound where comparing parents is not, since a fork writes a checkpoint of its own and a
 * summary may take messages away. `states` are the newest first, `shown` the ids of the messages in view.
 */
export function forksOf(states: ThreadState[], shown: string[]): Map<string, Fork> {
  const parents = new Set(states.map((state) => state.parent_checkpoint?.checkpoint_id));
  const paths = states
    .map((state, age): Path => ({ tip: state.checkpoint.checkpoint_id, ids: idsOf(state), age }))
    .filter((path) => !parents.has(path.tip));
  const forks = new Map<string, Fork>();
  let together = paths;
  for (const [place, id] of shown.entries()) {
    const newest = new Map<string, Path>();
    // Newest first: the first seen of each id is its newest path.
    for (const path of together) {
      const at = path.ids[place];
      if (at !== undefined && !newest.has(at)) newest.set(at, path);
    }
    if (newest.size > 1 && newest.has(id)) {
      const begun = (message: string) => firstSeen(states, message);
      const options = [...newest.keys()].sort((a, b) => begun(b) - begun(a));
      forks.set(id, { index: options.indexOf(id), tips: options.map((option) => newest.get(option)!.tip) });
    }
    together = together.filter((path) => path.ids[place] === id);
  }
  return forks;
}

/** The age of the oldest checkpoint that has the message. */
function firstSeen(states: ThreadState[], id: string): number {
  return states.findLastIndex((state) => idsOf(state).includes(id));
}

/** The checkpoint from which `messageId` was asked: the newest of its path that has just the messages before it. */
export function checkpointBefore(
  states: ThreadState[],
  tip: string | undefined,
  messageId: string,
): string | undefined {
  const path = ancestors(states, tip);
  const first = path.findLastIndex((state) => idsOf(state).includes(messageId));
  if (first < 0) return undefined;
  const has = idsOf(path[first]!);
  const before = has.slice(0, has.indexOf(messageId)).join();
  const earlier = path.slice(first + 1).filter((state) => idsOf(state).join() === before);
  return (earlier.find((state) => state.next.length === 0) ?? earlier[0])?.checkpoint.checkpoint_id;
}

/** The checkpoint that first has each message of a path, with its time. */
export function checkpointsByMessage(states: ThreadState[], tip: string | undefined): Map<string, Checkpoint> {
  const found = new Map<string, Checkpoint>();
  for (const state of ancestors(states, tip)) {
    const { checkpoint, created_at, metadata } = state;
    const first = { id: checkpoint.checkpoint_id, at: created_at ?? undefined, run: metadata?.run_id };
    for (const id of idsOf(state)) found.set(id, first);
  }
  return found;
}

/** A checkpoint (the newest by default) and what led to it, newest first. */
function ancestors(states: ThreadState[], tip: string | undefined): ThreadState[] {
  const byId = new Map(states.map((state) => [state.checkpoint.checkpoint_id, state]));
  const path: ThreadState[] = [];
  for (
    let state = tip === undefined ? states[0] : byId.get(tip);
    state && path.length <= states.length;
    state = byId.get(state.parent_checkpoint?.checkpoint_id ?? "")
  )
    path.push(state);
  return path;
}
