/** One run of a thread at a time, in the order in which they were accepted. */
import type { Of, Operation, StateSeen } from "../record.ts";
import { isBefore, type Facts, type RunFacts, type Violation } from "../facts.ts";

/** Runs in the order of their checkpoints, oldest first: one entry for each uninterrupted sequence. */
function listBlocks(states: StateSeen[]): string[] {
  const runs = states.toReversed().flatMap(({ run, source }) => (run && source !== "update" ? [run] : []));
  return runs.filter((run, index) => run !== runs[index - 1]);
}

/** Between the checkpoints of one run there are none of another. */
export function runsDoNotMix(facts: Facts): Violation[] {
  return facts.listAnswered("history").flatMap((history) => {
    const blocks = listBlocks(history.states);
    const run = blocks.find((one, index) => blocks.indexOf(one) !== index);
    if (!run) return [];
    const message = "The history has checkpoints of another run between those of this run.";
    return [{ rule: "runs-do-not-mix", thread: history.thread, run, message, operations: [history] }];
  });
}

/** No read shows two runs of a thread at work, and no run works between two reads that show another at work. */
export function oneAtATime(facts: Facts): Violation[] {
  return facts.threads.flatMap((thread) => {
    const sightings: { run: string; by: Operation }[] = [
      ...facts
        .listAnswered("run", thread)
        .flatMap((by) => (by.seen?.status === "running" ? [{ run: by.run, by }] : [])),
      ...facts
        .listAnswered("runs", thread)
        .flatMap((by) => by.runs.flatMap(({ run, status }) => (status === "running" ? [{ run, by }] : []))),
    ];
    return sightings.flatMap(({ run, by }) => {
      const others = sightings.filter((one) => one.run !== run);
      const same = others.find((one) => one.by === by);
      const around = others.find(
        (first) => isBefore(first.by, by) && others.some((last) => last.run === first.run && isBefore(by, last.by)),
      );
      const other = same ?? around;
      if (!other) return [];
      const message = `The run was at work at the same time as ${other.run}.`;
      return [{ rule: "one-at-a-time", thread, run, message, operations: [by, other.by] }];
    });
  });
}

/** What `check` finds for each run of a thread at rest, with those that began after it. */
function checkOrder(
  facts: Facts,
  check: (thread: string, run: RunFacts, after: RunFacts[], history: Of<"history">) => Violation[],
): Violation[] {
  return facts.threads.flatMap((thread) => {
    const history = facts.findAtRest("history", thread);
    if (!history) return [];
    const runs = listBlocks(history.states).flatMap((id) => facts.runs.get(id) ?? []);
    return runs.flatMap((run, index) => check(thread, run, runs.slice(index + 1), history));
  });
}

/** Of two runs, the one whose request was answered before the other was made begins first. Delays change the order. */
export function runsAreInOrder(facts: Facts): Violation[] {
  return checkOrder(facts, (thread, run, after, history) => {
    const [start] = run.starts;
    const late = after.find(({ starts: [other] }) => {
      if (!start || !other || other.delay || start.key || other.key) return false;
      return other.via !== "wait" && other.outcome === "ok" && isBefore(other, start);
    });
    if (!late) return [];
    const message = `The run ${late.id} was accepted before this one was requested, and ran after it.`;
    const operations = [...late.starts, ...run.starts, history];
    return [{ rule: "runs-are-in-order", thread, run: run.id, message, operations }];
  });
}

/** A run without a delay does not wait for one that is not yet due. */
export function delaysDoNotBlock(facts: Facts): Violation[] {
  return checkOrder(facts, (thread, run, after, history) => {
    const [start] = run.starts;
    if (start?.delay === undefined) return [];
    const due = start.at + start.delay;
    const blocked = after.find(({ starts: [other] }) => {
      if (!other || other.delay || other.key || other.via === "wait") return false;
      return other.outcome === "ok" && other.until < due;
    });
    if (!blocked) return [];
    const message = `The run ${blocked.id} was accepted before this one was due, and ran after it.`;
    const operations = [...run.starts, ...blocked.starts, history];
    return [{ rule: "delays-do-not-block", thread, run: run.id, message, operations }];
  });
}

/** A run with the strategy `reject` is not accepted while another is open. */
export function rejectRejects(facts: Facts): Violation[] {
  return facts.listAnswered("start").flatMap((start) => {
    if (start.strategy !== "reject" || start.key) return [];
    const { thread } = start;
    const open = facts
      .listAnswered("runs", thread)
      .filter((list) => list.runs.some(({ status }) => status === "running" || status === "pending"));
    const isOpenIn = (run: string, lists: typeof open) =>
      lists.find((list) =>
        list.runs.some((one) => one.run === run && (one.status === "running" || one.status === "pending")),
      );
    const earlier = open.filter((list) => isBefore(list, start));
    const later = open.filter((list) => isBefore(start, list));
    for (const { id } of facts.listRuns(thread)) {
      const [first, last] = [isOpenIn(id, earlier), isOpenIn(id, later)];
      if (id === start.run || !first || !last) continue;
      const message = `The run was accepted with "reject" while ${id} was open.`;
      return [{ rule: "reject-rejects", thread, run: start.run, message, operations: [first, start, last] }];
    }
    return [];
  });
}
