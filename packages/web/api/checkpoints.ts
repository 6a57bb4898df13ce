/** The checkpoints of a thread without their values: where its paths part, and which messages each of them has. */
import type { RawMessage } from "./types.ts";

export interface Step {
  id: string;
  parent: string | undefined;
  at: string | undefined;
  /** The run that wrote it. */
  run: string | undefined;
  /** "input", "loop", "update" or "fork". */
  source: string | undefined;
  next: string[];
  /** The id of its last message; null when it has none. */
  last: string | null;
}

/** A checkpoint beside a message. */
export interface Checkpoint {
  id: string;
  at: string | undefined;
  run: string | undefined;
  /** The checkpoint with just the messages before this one: a run that starts there asks it again. */
  from: string | undefined;
}

export interface Fork {
  /** Which of the paths is shown, from 0. */
  index: number;
  /** The newest checkpoint of each path, oldest path first. */
  tips: string[];
}

/** Adds a page of checkpoints to those that are known. Both are the newest first. A checkpoint never changes. */
export function joined(known: Step[], page: Step[]): Step[] {
  const ids = new Set(known.map((step) => step.id));
  const first = known[0]?.id ?? "";
  const fresh = page.filter((step) => !ids.has(step.id));
  // Ids of checkpoints grow with time.
  return [...fresh.filter((step) => step.id > first), ...known, ...fresh.filter((step) => step.id <= first)];
}

/** A checkpoint (the newest by default) and what led to it, newest first. */
function pathTo(steps: Step[], tip: string | undefined): Step[] {
  const byId = new Map(steps.map((step) => [step.id, step]));
  const path: Step[] = [];
  let step = tip === undefined ? steps[0] : byId.get(tip);
  while (step && path.length <= steps.length) {
    path.push(step);
    step = byId.get(step.parent ?? "");
  }
  return path;
}

/** How many of `ids` each checkpoint of a path has, newest checkpoint first; undefined where that is unknown. */
function countsOn(path: Step[], ids: string[]): (number | undefined)[] {
  const positions = new Map(ids.map((id, i) => [id, i + 1]));
  return path.map((step) => (step.last === null ? 0 : positions.get(step.last)));
}

/**
 * The checkpoint that first has each message of a path. `messages`: those of the path. Where the beginning of the path is
 * not read, the messages that its oldest known checkpoint has are left out: an older one may have had them first.
 */
export function findCheckpoints(
  steps: Step[],
  tip: string | undefined,
  messages: Pick<RawMessage, "id">[],
): Map<string, Checkpoint> {
  const ids = messages.flatMap(({ id }) => id ?? []);
  const path = pathTo(steps, tip);
  const counts = countsOn(path, ids);
  const found = new Map<string, Checkpoint>();
  /** By number of messages: the newest checkpoint that has just these, and before all the newest at the end of a run. */
  const ends = new Map<number, Step>();
  const whole = path.at(-1)?.parent === undefined;
  let done = whole ? 0 : (counts.findLast((count) => count !== undefined) ?? 0);
  for (let i = path.length - 1; i >= 0; i--) {
    const step = path[i]!;
    const { id, at, run } = step;
    const count = counts[i] ?? 0;
    for (; done < count; done++) found.set(ids[done]!, { id, at, run, from: ends.get(done)?.id });
    if (counts[i] !== undefined && (step.next.length === 0 || ends.get(count)?.next.length !== 0))
      ends.set(count, step);
  }
  return found;
}

/**
 * The messages at which other paths begin, by message id. Another path leaves this one at their newest common checkpoint,
 * so it begins at the message after the last one of that checkpoint. Several paths that leave after the same message
 * are alternatives of each other, also with different checkpoints: a fork writes its own.
 */
export function findForks(
  steps: Step[],
  tip: string | undefined,
  messages: Pick<RawMessage, "id">[],
): Map<string, Fork> {
  const ids = messages.flatMap(({ id }) => id ?? []);
  const shown = pathTo(steps, tip);
  const own = new Map(shown.map((step, i) => [step.id, i]));
  const counts = countsOn(shown, ids);
  const ages = new Map(steps.map((step, age) => [step.id, age]));
  const parents = new Set(steps.map((step) => step.parent));
  /** By the place of the message: the newest tip of each path, by the first message in which it differs. */
  const parted = new Map<number, Map<string, { tip: string; begun: number }>>();
  for (const leaf of steps) {
    if (parents.has(leaf.id) || own.has(leaf.id)) continue;
    const path = pathTo(steps, leaf.id);
    const at = path.findIndex((step) => own.has(step.id));
    const common = at < 0 ? undefined : own.get(path[at]!.id);
    const position = common === undefined ? undefined : counts[common];
    if (common === undefined || position === undefined) continue;
    const start = path.slice(0, at).findLast((step) => step.last !== null && step.last !== shown[common]!.last);
    if (!start || ids[position] === start.last) continue;
    const others = parted.get(position) ?? new Map<string, { tip: string; begun: number }>();
    // Newest first: the first leaf of a path is its newest.
    if (!others.has(start.last!)) others.set(start.last!, { tip: leaf.id, begun: ages.get(start.id) ?? 0 });
    parted.set(position, others);
  }
  const forks = new Map<string, Fork>();
  for (const [position, others] of parted) {
    const id = ids[position];
    if (id === undefined || shown.length === 0) continue;
    const first = counts.findLastIndex((count) => count !== undefined && count > position);
    const mine = { tip: shown[0]!.id, begun: ages.get(shown[first]?.id ?? "") ?? 0 };
    const options = [...others.values(), mine].sort((a, b) => b.begun - a.begun);
    forks.set(id, { index: options.indexOf(mine), tips: options.map((option) => option.tip) });
  }
  return forks;
}

/** Runs that resumed from an interrupt, with the message before the interrupt. */
export function resumedRuns(steps: Step[], tip: string | undefined): { run: string; after: string; at?: string }[] {
  const path = pathTo(steps, tip);
  return path
    .flatMap((step, i) => {
      const before = path[i + 1];
      const begins = step.run !== undefined && before && before.run !== step.run;
      return begins && step.source === "loop" && before.next.length > 0 && before.last !== null
        ? [{ run: step.run!, after: before.last, at: step.at }]
        : [];
    })
    .toReversed();
}

/**
 * Whether a run that is not read yet may have resumed after this message. Another run may have continued from the
 * interrupt's checkpoint instead: then the person's answer is on a branch of its own.
 */
export function mayResumeAfter(steps: Step[], tip: string | undefined, message: string): boolean {
  return (
    pathTo(steps, tip)[0]?.last === message ||
    resumedRuns(steps, tip).some(({ after }) => after === message) ||
    !steps.some(({ last }) => last === message)
  );
}
