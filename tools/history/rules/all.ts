/** All rules. Each is a function of the history alone. */
import type { Facts, Violation } from "../facts.ts";
import * as answers from "./answers.ts";
import * as order from "./order.ts";
import * as reads from "./reads.ts";
import * as runs from "./runs.ts";
import * as state from "./state.ts";
import * as streams from "./streams.ts";
import * as values from "./values.ts";

export type Rule = (facts: Facts) => Violation[];

export const RULES: Record<string, Rule> = {
  "runs-end": runs.runsEnd,
  "status-is-final": runs.statusIsFinal,
  "runs-are-listed": runs.runsAreListed,
  "runs-are-listed-once": runs.runsAreListedOnce,
  "deleted-is-gone": runs.deletedIsGone,
  "one-run-per-key": runs.oneRunPerKey,
  "cancel-ends": runs.cancelEnds,
  "delays-are-kept": runs.delaysAreKept,
  "audit-is-answered": runs.auditIsAnswered,
  "runs-do-not-mix": order.runsDoNotMix,
  "one-at-a-time": order.oneAtATime,
  "runs-are-in-order": order.runsAreInOrder,
  "delays-do-not-block": order.delaysDoNotBlock,
  "reject-rejects": order.rejectRejects,
  "ids-grow": streams.idsGrow,
  "readers-agree": streams.readersAgree,
  "nothing-is-missed": streams.findMissed,
  "one-end": streams.oneEnd,
  "ends-stay": streams.endsStay,
  "answered-is-answered": streams.answeredIsAnswered,
  "answers-apply-once": answers.answersApplyOnce,
  "answers-are-not-lost": answers.answersAreNotLost,
  "refused-answers-do-nothing": answers.refusedAnswersDoNothing,
  "one-answer-per-question": answers.oneAnswerPerQuestion,
  "writes-are-read": reads.writesAreRead,
  "reads-are-monotonic": reads.readsAreMonotonic,
  "threads-are-there": reads.threadsAreThere,
  "searches-agree": reads.searchesAgree,
  "copies-are-whole": reads.copiesAreWhole,
  "messages-are-explained": state.messagesAreExplained,
  "answers-follow": state.answersFollow,
  "emails-are-approved": state.emailsAreApproved,
  "history-grows": state.historyGrows,
  "wait-agrees": values.waitAgrees,
  "join-agrees": values.joinAgrees,
  "stream-agrees": values.streamAgrees,
  "state-agrees": state.stateAgrees,
};
