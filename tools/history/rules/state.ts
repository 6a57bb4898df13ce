/** The state at rest: every run explains what it has, and every way to read it shows the same. */
import type { Of, Operation, Role, StateSeen } from "../record.ts";
import { type Facts, type RunFacts, type Violation } from "../facts.ts";
import { lengths, sameState, textsIn, listTexts } from "../shown.ts";

export interface Rest {
  thread: string;
  state: Of<"state"> & { state: StateSeen };
  history?: Of<"history">;
}

export function listAtRest(facts: Facts): Rest[] {
  return facts.threads.flatMap((thread) => {
    const state = facts.findAtRest("state", thread);
    if (!state?.state) return [];
    return [{ thread, state: { ...state, state: state.state }, history: facts.findAtRest("history", thread) }];
  });
}

const count = (texts: string[], text: string): number => texts.filter((one) => one === text).length;

export const violation = (
  rule: string,
  thread: string,
  message: string,
  operations: Operation[],
  run?: string,
): Violation => ({
  rule,
  thread,
  ...(run && { run }),
  message,
  operations,
});

/** The messages of successful runs are in the state once, those of runs that were rolled back or refused are not. */
export function messagesAreExplained(facts: Facts): Violation[] {
  return listAtRest(facts).flatMap(({ thread, state }) => {
    const texts = listTexts(state.state, "human");
    const runs = facts.listRuns(thread).flatMap((run) => {
      const [start] = run.starts;
      if (!start || start.answer) return [];
      const wrong = checkCount(run, count(texts, start.text));
      return wrong
        ? [violation("messages-are-explained", thread, `${start.text} ${wrong}`, [...run.starts, state], run.id)]
        : [];
    });
    const refused = facts.listOperations("start", thread).filter(({ outcome, text }) => {
      const accepted = facts
        .listOperations("start", thread)
        .some((other) => other.text === text && other.outcome !== "refused");
      return outcome === "refused" && !accepted && texts.includes(text);
    });
    const updates = facts.listOperations("update", thread).filter(({ outcome, text }) => {
      const found = count(texts, text);
      return outcome === "ok" ? found !== 1 : found > (outcome === "refused" ? 0 : 1);
    });
    return [
      ...runs,
      ...refused.map((start) =>
        violation("messages-are-explained", thread, `${start.text} was refused, and is in the state.`, [start, state]),
      ),
      ...updates.map((update) => {
        const found = count(texts, update.text);
        const message = `The update ${update.text} (${update.outcome}) is in the state ${found} times.`;
        return violation("messages-are-explained", thread, message, [update, state]);
      }),
    ];
  });
}

function checkCount(run: RunFacts, found: number): string | undefined {
  if (found > 1) return `is in the state ${found} times.`;
  if (run.atRest === "success" && found === 0) return "is not in the state, but its run succeeded.";
  const rolledBack = run.atRest === undefined && run.rollbacks.length > 0 && run.deletions.length === 0;
  return rolledBack && found > 0 ? "is in the state, but its run was rolled back." : undefined;
}

/** What each graph answers to a message; undefined where that depends on more. */
const REPLY: Record<Role, (text: string) => string | undefined> = {
  echo: (text) => `You said: ${text}`,
  agent: () => "1 2 3 4 5 6",
  approval: () => undefined,
};

/** Each message of a successful run is followed by its answer. No answer has two, and no message has two ids. */
export function answersFollow(facts: Facts): Violation[] {
  return listAtRest(facts).flatMap(({ thread, state }) => {
    const { messages } = state.state;
    const ids = messages.flatMap(({ id }) => id ?? []);
    const twice = ids.find((id, index) => ids.indexOf(id) !== index);
    const double = twice ? [violation("answers-follow", thread, `Two messages have the id ${twice}.`, [state])] : [];
    const wrong = facts.listRuns(thread).flatMap((run) => {
      const [start] = run.starts;
      const reply = start && !start.answer && run.atRest === "success" ? REPLY[start.role](start.text) : undefined;
      const at = messages.findIndex(({ type, text }) => type === "human" && textsIn(text).includes(start?.text ?? ""));
      const next = messages[at + 1];
      if (!start || reply === undefined || at < 0 || (next?.type === "ai" && next.text === reply)) return [];
      const message = `After ${start.text} comes ${next ? `${next.type} "${next.text.slice(0, 80)}"` : "nothing"}, not "${reply}".`;
      return [violation("answers-follow", thread, message, [...run.starts, state], run.id)];
    });
    return [...double, ...wrong];
  });
}

/** An email is sent once, and only after a person approved it. */
export function emailsAreApproved(facts: Facts): Violation[] {
  return listAtRest(facts).flatMap(({ thread, state }) => {
    const sent = state.state.sent.flatMap(textsIn);
    const approved = facts
      .listOperations("start", thread)
      .filter(({ answer, outcome }) => answer?.type === "approve" && outcome !== "refused");
    return sent.flatMap((text, index) => {
      if (sent.indexOf(text) !== index)
        return [violation("emails-are-approved", thread, `The email about ${text} was sent twice.`, [state])];
      // Without strict resume an approval applies to the question that waits, which may be a newer one.
      const fits = approved.some(({ answer }) => answer?.about === text || answer?.strict === false);
      return fits
        ? []
        : [violation("emails-are-approved", thread, `The email about ${text} was sent without approval.`, [state])];
    });
  });
}

/** Each state of the history begins with the messages of its parent. */
export function historyGrows(facts: Facts): Violation[] {
  return listAtRest(facts).flatMap(({ thread, history }) => {
    const states = new Map(history?.states.map((one) => [one.checkpoint, one]));
    for (const one of states.values()) {
      const parent = one.parent === undefined ? undefined : states.get(one.parent);
      if (!history || !parent) continue;
      const [now, then] = [one, parent].map(({ messages }) => messages.map(({ type, text }) => `${type} ${text}`));
      const lost = then?.findIndex((text, index) => now?.[index] !== text) ?? -1;
      if (lost < 0) continue;
      const message = `The state ${one.checkpoint} does not have "${then?.[lost]}" of its parent ${one.parent}.`;
      return [violation("history-grows", thread, message, [history], one.run)];
    }
    return [];
  });
}

/** The state, the newest state of the history, and the thread itself show the same values and questions. */
export function stateAgrees(facts: Facts): Violation[] {
  return listAtRest(facts).flatMap(({ thread, state, history }) => {
    const newest = history?.states[0];
    const read = facts.findAtRest("thread", thread);
    const { interrupts, next } = state.state;
    const wrong: Violation[] = [];
    const add = (message: string, by: Operation | undefined) =>
      wrong.push(violation("state-agrees", thread, message, by ? [state, by] : [state]));
    if (newest && (!sameState(newest, state.state) || newest.checkpoint !== state.state.checkpoint))
      add("The newest state of the history is not the state.", history);
    const values = read?.seen?.values;
    if (values?.whole && !sameState(values, state.state)) {
      add(`The thread's values are not the state: ${lengths(values)}, and ${lengths(state.state)} in the state.`, read);
    }
    const status = read?.seen?.status;
    if (status === "busy") add("The thread is busy at rest.", read);
    if (status === "idle" && interrupts.length > 0) add("A question waits, and the thread is idle.", read);
    if (status === "interrupted" && next.length === 0) add("The thread is interrupted, and no node waits.", read);
    return wrong;
  });
}
