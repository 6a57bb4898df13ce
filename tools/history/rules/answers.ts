/** Answers to questions: each is applied once or refused. */
import type { Of, Start } from "../record.ts";
import { type Facts, canBeGone, type RunFacts, type Violation } from "../facts.ts";
import { textsIn, listTexts } from "../shown.ts";

interface Given {
  start: Start & { answer: NonNullable<Start["answer"]> };
  run?: RunFacts;
  state: Of<"state">;
  /** How often the state at rest has the answer's effect. */
  applied: number;
}

/** All answers with what is left of them at rest. */
function listAnswers(facts: Facts): Given[] {
  return facts.listOperations("start").flatMap((start) => {
    const state = facts.findAtRest("state", start.thread);
    if (!isAnswer(start) || !state?.state) return [];
    const { answer, text } = start;
    const effects =
      answer.type === "approve"
        ? state.state.sent.flatMap(textsIn).filter((one) => one === answer.about)
        : listTexts(state.state, "tool").filter((one) => one === text);
    return [
      { start, run: start.run ? facts.runs.get(start.run) : facts.findRun(text), state, applied: effects.length },
    ];
  });
}

const isAnswer = (start: Start): start is Given["start"] => start.answer !== undefined;

const violation = (rule: string, message: string, { start, run, state }: Given): Violation => ({
  rule,
  thread: start.thread,
  ...(run && { run: run.id }),
  message,
  operations: [start, state],
});

/** No answer is applied twice. An email is sent once however many people approve it. */
export function answersApplyOnce(facts: Facts): Violation[] {
  return listAnswers(facts)
    .filter(({ applied }) => applied > 1)
    .map((given) => violation("answers-apply-once", `The answer ${given.start.text} is in the state twice.`, given));
}

/**
 * An answer that was accepted, and whose run succeeded, is in the state. On a server with strict resume, answers without it may do
 * nothing: the clients that send them accept that.
 */
export function answersAreNotLost(facts: Facts): Violation[] {
  return listAnswers(facts)
    .filter(({ start, run, applied }) => {
      if (!start.answer.strict && facts.history.features.strictResume) return false;
      return applied === 0 && start.outcome !== "refused" && run?.atRest === "success" && !canBeGone(run, Infinity);
    })
    .map((given) => {
      const message = `The answer ${given.start.text} was accepted and its run succeeded, but the state does not have it.`;
      return violation("answers-are-not-lost", message, given);
    });
}

/** A strict answer that was refused, or whose run failed, is not in the state. */
export function refusedAnswersDoNothing(facts: Facts): Violation[] {
  return listAnswers(facts)
    .filter(({ start, run, applied }) => {
      const refused = start.outcome === "refused" || (run?.atRest === "error" && start.answer.strict);
      return refused && applied > 0 && start.answer.type === "reject";
    })
    .map((given) => {
      const message = `The answer ${given.start.text} was refused, but the state has it.`;
      return violation("refused-answers-do-nothing", message, given);
    });
}

/** Of the strict answers to one question, at most one is applied. */
export function oneAnswerPerQuestion(facts: Facts): Violation[] {
  const applied = listAnswers(facts).filter(({ start, applied, run }) => {
    const counts = start.answer.type === "reject" ? applied > 0 : run?.atRest === "success" && applied > 0;
    return start.answer.strict && counts;
  });
  const byQuestion = Map.groupBy(applied, ({ start }) => `${start.thread} ${start.answer.interrupt}`);
  return [...byQuestion.values()].flatMap((given) => {
    const [first, second] = given;
    if (!first || !second) return [];
    const message = `Two answers to one question were applied: ${given.map(({ start }) => start.text).join(", ")}.`;
    return [{ ...violation("one-answer-per-question", message, second), operations: given.map(({ start }) => start) }];
  });
}
