/** Reads: each shows every write that was acknowledged before it began, and no client sees the past again. */
import { AUDITOR, type Operation } from "../record.ts";
import { isBefore, type Facts, type Violation } from "../facts.ts";
import { sameState, type Shown, listTexts } from "../shown.ts";

type Reader = { by: Operation; shown: Shown };

/** Reads of the newest state of a thread. */
function listReaders(facts: Facts, thread: string): Reader[] {
  const states = facts.listAnswered("state", thread).flatMap((by) => (by.state ? [{ by, shown: by.state }] : []));
  const histories = facts
    .listAnswered("history", thread)
    .flatMap((by) => (by.states[0] ? [{ by, shown: by.states[0] }] : []));
  return [...states, ...histories].sort((a, b) => a.by.at - b.by.at);
}

const hasText = ({ shown }: Reader, text: string): boolean => listTexts(shown, "human").includes(text);

interface Write {
  text: string;
  by: Operation;
}

/** The ends of successful runs that a client waited for or saw on a stream. */
function endsSeen(facts: Facts, thread: string): Write[] {
  const ends: (Operation & { run?: string })[] = [
    ...facts.listAnswered("start", thread).filter(({ via }) => via === "wait"),
    ...facts.listAnswered("read", thread).filter(({ ended }) => ended),
    ...facts.listAnswered("join", thread),
  ];
  return ends.flatMap((by) => {
    const run = by.run === undefined ? undefined : facts.runs.get(by.run);
    const [start] = run?.starts ?? [];
    return start && !start.answer && run?.atRest === "success" ? [{ by, text: start.text }] : [];
  });
}

/** A state update, or a run whose end its client has seen, is in each state that is read later. */
export function writesAreRead(facts: Facts): Violation[] {
  return facts.threads.flatMap((thread) => {
    const reads = listReaders(facts, thread);
    const updates = facts.listAnswered("update", thread).map((by) => ({ by, text: by.text }));
    return [...updates, ...endsSeen(facts, thread)].flatMap(({ text, by }) => {
      const wrong = reads.find(
        (read) => isBefore(by, read.by) && !hasText(read, text) && !facts.canVanish(text, read.by.until),
      );
      if (!wrong) return [];
      const message = `${text} was written, and a later read does not show it.`;
      return [{ rule: "writes-are-read", thread, message, operations: [by, wrong.by] }];
    });
  });
}

/** What one client has seen in the state does not vanish for it, unless its run may have been rolled back. */
export function readsAreMonotonic(facts: Facts): Violation[] {
  return facts.threads.flatMap((thread) => {
    const byClient = Map.groupBy(listReaders(facts, thread), ({ by }) => by.client);
    return [...byClient.values()].flatMap((reads) => {
      for (const [index, later] of reads.entries()) {
        for (const earlier of reads.slice(0, index)) {
          if (!isBefore(earlier.by, later.by)) continue;
          const lost = listTexts(earlier.shown, "human").find(
            (text) => !hasText(later, text) && !facts.canVanish(text, later.by.until),
          );
          if (lost === undefined) continue;
          const message = `The client saw ${lost} in the state, and later a state without it.`;
          return [{ rule: "reads-are-monotonic", thread, message, operations: [earlier.by, later.by] }];
        }
      }
      return [];
    });
  });
}

/** A thread is there for each read that begins after it was created. */
export function threadsAreThere(facts: Facts): Violation[] {
  return facts.listAnswered("create thread").flatMap((creation) => {
    const { thread } = creation;
    const kinds = ["thread", "state", "runs", "history"] as const;
    const wrong = kinds
      .flatMap((kind): Operation[] => facts.listOperations(kind, thread))
      .find((read) => isBefore(creation, read) && read.outcome === "refused");
    if (!wrong) return [];
    const message = "The thread was created, and a later read was refused.";
    return [{ rule: "threads-are-there", thread, message, operations: [creation, wrong] }];
  });
}

/** Within the bound, searches find each thread with the status and state that the thread itself shows. */
export function searchesAgree(facts: Facts): Violation[] {
  const { searchBound } = facts.history;
  const search = facts.listAnswered("search").findLast(({ client }) => client === AUDITOR);
  const missing = facts.listAnswered("create thread").flatMap((creation) => {
    const late = facts
      .listAnswered("search")
      .find(
        ({ at, found }) => at > creation.until + searchBound && !found.some((one) => one.thread === creation.thread),
      );
    return late ? [difference(creation.thread, "does not find the thread", [creation, late])] : [];
  });
  const different = facts.threads.flatMap((thread) => {
    const read = facts.findAtRest("thread", thread);
    const found = search?.found.find((one) => one.thread === thread);
    if (!search || !read?.seen || !found) return [];
    const { status, values } = read.seen;
    if (status !== found.status)
      return [difference(thread, `shows the status ${found.status}, the thread has ${status}`, [read, search])];
    if (values && found.values && !sameState(values, found.values))
      return [difference(thread, "shows another state than the thread", [read, search])];
    return [];
  });
  return [...missing, ...different];
}

const difference = (thread: string, what: string, operations: Operation[]): Violation => ({
  rule: "searches-agree",
  thread,
  message: `Longer than the bound after the change, a search ${what}.`,
  operations,
});

/** A copy has what its source had at one moment of the request, and keeps it. */
export function copiesAreWhole(facts: Facts): Violation[] {
  return facts.listAnswered("copy").flatMap((copy) => {
    const reads = facts.listAnswered("state", copy.copy);
    const [first] = reads;
    if (!copy.copy || !first?.state) return [];
    const texts = listTexts(first.state, "human");
    const source = listReaders(facts, copy.thread);
    const missing = source
      .filter(({ by }) => isBefore(by, copy))
      .flatMap((read) => listTexts(read.shown, "human").map((text) => ({ text, by: read.by })))
      .find(({ text }) => !texts.includes(text) && !facts.canVanish(text, copy.until));
    const late = facts
      .listOperations("start", copy.thread)
      .find((start) => isBefore(copy, start) && texts.includes(start.text));
    const changed = reads.find(({ state }) => state && first.state && !sameState(state, first.state));
    const createViolation = (message: string, ...others: Operation[]): Violation[] => [
      { rule: "copies-are-whole", thread: copy.thread, message, operations: [copy, first, ...others] },
    ];
    if (missing) return createViolation(`The copy has no ${missing.text}, which its source had.`, missing.by);
    if (late) return createViolation(`The copy has ${late.text}, which was sent later.`, late);
    return changed ? createViolation("The copy has changed.", changed) : [];
  });
}
