/** From where a run continues, and what it answers there: at the latest checkpoint, or at one of the past. */
import { runThatAsked } from "../answers/asking.ts";
import type { ThreadContext } from "../context.ts";
import { pendingInterrupts } from "../record.ts";
import type { RunRequest } from "../rpc.ts";
import { type Outcome, type Refusal, type StoredRun, findTask } from "../run.ts";
import { namesLatest } from "../graph/continue.ts";
import { listAnswered, checkStrictResume } from "../interrupts/resume.ts";

/** Whether a run that has begun continues from a checkpoint of the past. */
export const isFork = ({ request, outcome }: Pick<StoredRun, "request" | "outcome">): boolean =>
  request.checkpoint !== undefined && !outcome.at_latest;

/** The checkpoint of the past from which a run continues. */
export const forkedFrom = (run: Pick<StoredRun, "request" | "outcome">): string | undefined =>
  isFork(run) ? (run.request.checkpoint?.checkpoint_id ?? undefined) : undefined;

/**
 * What a run that begins continues: whether its request names the latest checkpoint, why it is refused, and which questions it answers.
 * `seen`: its beginning is in the log, with what it answers.
 */
export function checkContinuation(
  context: ThreadContext,
  { request, outcome }: StoredRun,
  seen: boolean,
): Pick<Outcome, "at_latest" | "task_id"> & { refusal?: Refusal; answered: string[] } {
  const isLatest = outcome.at_latest ?? namesLatest(context.checkpoints, request.checkpoint);
  if (!isLatest) return { answered: seen ? [] : listAnswered(request, questionsAt(context, request)) };
  const pending = pendingInterrupts(context.record);
  const refusal = checkStrictResume(request, pending);
  const answered = seen || refusal ? [] : listAnswered(request, pending);
  const task_id = request.task ? undefined : taskThatAsked(context, answered);
  return { refusal, answered, ...(request.checkpoint && { at_latest: true }), ...(task_id && { task_id }) };
}

/** The task whose question the run answers. The run joins it, through whichever channel the answer came. */
function taskThatAsked(context: ThreadContext, answered: string[]): string | undefined {
  if (answered.length === 0 || !context.tables.hasTasks()) return undefined;
  for (const id of answered) {
    const asking = runThatAsked(context, id);
    const task = asking && findTask(asking);
    if (task !== undefined) return task;
  }
  return undefined;
}

/** The ids of the questions that wait at the checkpoint that a request names. */
export function questionsAt({ checkpoints }: Pick<ThreadContext, "checkpoints">, { checkpoint }: RunRequest): string[] {
  const questions = Object.values(checkpoints.questions(checkpoint?.checkpoint_id ?? undefined));
  return questions.flat().flatMap(({ id }) => id ?? []);
}
