/** Runs: each ends once, is listed once, and waits as long as it must. */
import { AUDITOR, type Operation, type RunSeen } from "../record.ts";
import { isBefore, type Facts, isFinal, canBeGone, type Violation } from "../facts.ts";

/** What was seen of a run's status, in the order in which the operations began. */
interface Sighting {
  status: string | undefined;
  by: Operation;
}

function listSightings(facts: Facts, thread: string): Map<string, Sighting[]> {
  const sightings = new Map<string, Sighting[]>();
  const add = (run: string, status: string | undefined, by: Operation) =>
    sightings.set(run, [...(sightings.get(run) ?? []), { status, by }]);
  for (const read of facts.listAnswered("run", thread)) add(read.run, read.seen?.status, read);
  for (const list of facts.listAnswered("runs", thread))
    for (const { run, status } of list.runs) add(run, status, list);
  for (const seen of sightings.values()) seen.sort((a, b) => a.by.at - b.by.at);
  return sightings;
}

/** At rest each run that the thread has is at an end. */
export function runsEnd(facts: Facts): Violation[] {
  return facts.threads.flatMap((thread) => {
    const list = facts.findAtRest("runs", thread);
    const open = list?.runs.filter(({ status }) => !isFinal(status)) ?? [];
    return open.map(({ run, status }) => ({
      rule: "runs-end",
      thread,
      run,
      message: `The run is still ${status} at rest.`,
      operations: [...(facts.runs.get(run)?.starts ?? []), ...(list ? [list] : [])],
    }));
  });
}

/** A status never goes back: from final to another one, or from running to pending. */
export function statusIsFinal(facts: Facts): Violation[] {
  return facts.threads.flatMap((thread) =>
    [...listSightings(facts, thread)].flatMap(([run, seen]) => {
      const wrong = seen.flatMap((later, index) => {
        const earlier = seen
          .slice(0, index)
          .find((one) => isBefore(one.by, later.by) && goesBack(one.status, later.status));
        return earlier ? [{ earlier, later }] : [];
      })[0];
      if (!wrong) return [];
      const { earlier, later } = wrong;
      const message = `The run was ${earlier.status ?? "absent"} and later ${later.status}.`;
      return [{ rule: "status-is-final", thread, run, message, operations: [earlier.by, later.by] }];
    }),
  );
}

/** Absence is checked by `listed`. A removed run does not return. */
function goesBack(from: string | undefined, to: string | undefined): boolean {
  if (to === undefined) return false;
  if (from === undefined) return true;
  return isFinal(from) ? to !== from : from === "running" && to === "pending";
}

/** An accepted run is there for every read that begins later, unless it may have been removed. */
export function runsAreListed(facts: Facts): Violation[] {
  return [...facts.runs.values()].flatMap((run) => {
    const isMissing = (read: Operation) => run.accepted < read.at && !canBeGone(run, read.until);
    const lists = facts.listAnswered("runs", run.thread).filter((list) => list.complete && isMissing(list));
    const wrong: Operation | undefined =
      lists.find(({ runs }) => !runs.some((one) => one.run === run.id)) ??
      facts.listAnswered("run", run.thread).find((read) => read.run === run.id && !read.seen && isMissing(read));
    if (!wrong) return [];
    const message = "The run was accepted, and a later read does not show it.";
    return [{ rule: "runs-are-listed", thread: run.thread, run: run.id, message, operations: [...run.starts, wrong] }];
  });
}

/** A run that was deleted is gone. */
export function deletedIsGone(facts: Facts): Violation[] {
  return facts.listAnswered("delete run").flatMap((deletion) => {
    const { run, thread } = deletion;
    const shows = [
      ...facts.listAnswered("run", thread).filter((read) => read.run === run && read.seen),
      ...facts.listAnswered("runs", thread).filter((list) => list.runs.some((one) => one.run === run)),
    ].find((read) => isBefore(deletion, read));
    if (!shows) return [];
    const message = "The run was deleted, and a later read shows it.";
    return [{ rule: "deleted-is-gone", thread, run, message, operations: [deletion, shows] }];
  });
}

/** No list has a run twice, and no text has two runs. */
export function runsAreListedOnce(facts: Facts): Violation[] {
  return facts.listAnswered("runs").flatMap((list) => {
    const twice = findTwice(list.runs, ({ run }) => run) ?? findTwice(list.runs, ({ text }) => text);
    if (!twice) return [];
    const message = `The list has the run, or its request ${twice.text ?? ""}, twice.`;
    return [{ rule: "runs-are-listed-once", thread: list.thread, run: twice.run, message, operations: [list] }];
  });
}

function findTwice(runs: RunSeen[], key: (run: RunSeen) => string | undefined): RunSeen | undefined {
  const keys = runs.map(key);
  return runs.find((_, index) => keys[index] !== undefined && keys.indexOf(keys[index]) !== index);
}

/** Requests with one Idempotency-Key have one run. */
export function oneRunPerKey(facts: Facts): Violation[] {
  const byKey = Map.groupBy(
    facts.listOperations("start").filter(({ key }) => key !== undefined),
    ({ key }) => key,
  );
  return [...byKey.values()].flatMap((starts) => {
    const runs = new Set(starts.flatMap(({ run }) => run ?? []));
    if (runs.size < 2) return [];
    const message = `One Idempotency-Key has ${runs.size} runs: ${[...runs].join(", ")}.`;
    return [{ rule: "one-run-per-key", thread: starts[0]?.thread ?? "", message, operations: starts }];
  });
}

/** A cancellation that was waited for has ended the run. */
export function cancelEnds(facts: Facts): Violation[] {
  return facts.listAnswered("cancel").flatMap((cancel) => {
    if (!cancel.wait) return [];
    const seen = (listSightings(facts, cancel.thread).get(cancel.run) ?? []).find(
      ({ status, by }) => isBefore(cancel, by) && status !== undefined && !isFinal(status),
    );
    if (!seen) return [];
    const message = `The cancellation was waited for, and the run is ${seen.status} later.`;
    return [{ rule: "cancel-ends", thread: cancel.thread, run: cancel.run, message, operations: [cancel, seen.by] }];
  });
}

/** A delayed run does not begin before its time. */
export function delaysAreKept(facts: Facts): Violation[] {
  return [...facts.runs.values()].flatMap((run) => {
    const start = run.starts.find(({ delay }) => delay !== undefined);
    if (!start) return [];
    const due = start.at + (start.delay ?? 0);
    const begun = (listSightings(facts, run.thread).get(run.id) ?? []).find(
      ({ status, by }) => by.until < due && (status === "running" || status === "success"),
    );
    if (!begun) return [];
    const message = `The run was to begin after ${start.delay} ms, and was ${begun.status} before.`;
    return [{ rule: "delays-are-kept", thread: run.thread, run: run.id, message, operations: [start, begun.by] }];
  });
}

/** Nothing is left undone: every request of the auditor was answered. */
export function auditIsAnswered(facts: Facts): Violation[] {
  return facts.history.operations
    .filter(({ client, outcome, kind }) => client === AUDITOR && outcome !== "ok" && kind !== "read" && kind !== "join")
    .map((operation) => ({
      rule: "audit-is-answered",
      thread: operation.thread,
      message: "A read at rest failed.",
      operations: [operation],
    }));
}
