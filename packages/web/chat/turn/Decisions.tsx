/** The decisions that wait at the end of a log. */
import { useEffect, useRef, useState, useMemo } from "react";
import { Button } from "../../ui/Button.tsx";
import type { Interrupt, RawMessage } from "../../api/types.ts";
import type { Stream } from "../session/stream.ts";
import { useLoaded } from "../../ui/on-demand.ts";
import type { Reply } from "./Decision.tsx";
import { errorText } from "../session/connection.ts";
import css from "./Log.module.css";
import type { News, Thread } from "../session/reducer.ts";
import { Tick } from "./Tick.tsx";
import { useRunDetails } from "../../api/queries.ts";
import { type Decided, decidedBy } from "./past.ts";
import { mayResumeAfter, resumedRuns } from "../../api/checkpoints.ts";

/** The first decision that is open, or, when all are made, what sends them. */
export const NEXT_DECISION = "[data-decision]:not([data-decided]), [data-send-decisions]:enabled";

/** The card of a decision. Most conversations have none, so the first view does not wait for its code. */
export const loadDecision = async () => (await import("./Decision.tsx")).Decision;

export function Decisions({
  stream,
  waiting,
  after,
  context,
  refused,
  tell,
  onSent,
  onRefused,
}: {
  stream: Stream;
  waiting: Interrupt[];
  /** The last message: the user decides its interrupts here. */
  after: string | undefined;
  context: Record<string, unknown>;
  /** Why the last answer was not taken. */
  refused: string | undefined;
  tell: (news: News) => void;
  /** The cards were removed, and the focused element with them. */
  onSent: () => void;
  onRefused: (why: string | undefined) => void;
}) {
  const [replies, setReplies] = useState<Record<string, Reply>>({});
  const [sending, setSending] = useState(false);
  const [unavailable, setUnavailable] = useState(false);
  const { Loaded: Decision } = useLoaded(loadDecision, waiting.length > 0, () => setUnavailable(true));
  const list = useRef<HTMLDivElement>(null);
  const decided = waiting.filter((one) => replies[one.id] !== undefined).length;
  // Questions of one checkpoint are answered together: the first answer alone would start the run without the rest.
  const together = waiting.length > 1 || decided > 0;

  const ids = waiting.map((one) => one.id).join(" ");
  useEffect(() => {
    // An answer is removed with its question: a later question may have the same id.
    const still = new Set(ids.split(" "));
    setReplies((now) => Object.fromEntries(Object.entries(now).filter(([id]) => still.has(id))));
  }, [ids]);

  const send = (all: Record<string, Reply>) => {
    const ids = waiting.map((one) => one.id);
    const [first = ""] = ids;
    const config = { configurable: context };
    const at = new Date().toISOString();
    const said = ids.flatMap((one) => all[one]!.said.map((words) => ({ ...words, after: after ?? "", at })));
    setSending(true);
    onRefused(undefined);
    tell({ type: "answer", ids, said });
    tell({ type: "submit" });
    onSent();
    const sent =
      ids.length === 1
        ? stream.respond(all[first]!.value, { interruptId: first, config })
        : stream.respondAll(Object.fromEntries(ids.map((one) => [one, all[one]!.value])), { config });
    sent
      .then(() => setReplies({}))
      .catch((error: unknown) => {
        onRefused(errorText(error));
        tell({ type: "unanswered", ids });
        tell({ type: "refused" });
        if (ids.length > 1) setReplies(all);
      })
      .finally(() => setSending(false));
  };

  const answer = (id: string, reply: Reply) => {
    if (!together) return send({ [id]: reply });
    setReplies({ ...replies, [id]: reply });
    // The pressed button was removed: the focus moves to the next decision.
    requestAnimationFrame(() => {
      list.current?.querySelector<HTMLElement>(NEXT_DECISION)?.focus();
    });
  };

  return (
    <>
      {refused !== undefined && (
        <p className={css.refused} role="alert">
          {refused}
        </p>
      )}
      {waiting.length > 0 && unavailable && !Decision && (
        <p className={css.refused} role="alert">
          The form for your answer did not load. Reload the page.
        </p>
      )}
      {waiting.length > 0 && Decision && (
        <div className={css.decisions} ref={list}>
          {waiting.map((interrupt, i) => (
            <div key={interrupt.id} className={css.row}>
              <Tick kind="decision" />
              <Decision
                threadId={stream.threadId ?? undefined}
                interrupt={interrupt}
                position={together ? `${i + 1} of ${waiting.length}` : undefined}
                reply={replies[interrupt.id]}
                sending={sending}
                onReply={(reply) => answer(interrupt.id, reply)}
                onChange={() =>
                  setReplies(Object.fromEntries(Object.entries(replies).filter(([id]) => id !== interrupt.id)))
                }
              />
            </div>
          ))}
          {together && (
            <div className={css.row}>
              <Button
                look="brass"
                data-send-decisions
                disabled={decided < waiting.length || sending}
                onClick={() => send(replies)}
              >
                {decided < waiting.length
                  ? `${decided} of ${waiting.length} answered`
                  : `Send ${waiting.length === 1 ? "the answer" : `all ${waiting.length} answers`}`}
              </Button>
            </div>
          )}
        </div>
      )}
    </>
  );
}

/** The number of runs whose answers are read. */
const MOST = 50;

/** The decisions of the path in view, also those of another tab and of another day. */
export function useDecided(threadId: string | undefined, thread: Thread, messages: RawMessage[]): Decided[] {
  const { steps, at, said } = thread;
  const resumed = useMemo(() => resumedRuns(steps, at).slice(-MOST), [steps, at]);
  const runs = useRunDetails(
    threadId,
    resumed.map(({ run }) => run),
  );
  const details = runs.map(({ data }) => data);
  const key = details.map((run) => run?.run_id ?? "").join();
  return useMemo(() => {
    const known = resumed.flatMap((one, i) => {
      const run = details[i];
      return run
        ? decidedBy({ ...one, at: run.created_at, answered: run.answered }, run.kwargs?.command?.resume, messages)
        : [];
    });
    const seen = new Set(known.map(({ after }) => after));
    const fresh = said.filter(({ after }) => !seen.has(after) && mayResumeAfter(steps, at, after));
    return [...known, ...fresh.map((one, i): Decided => ({ ...one, id: `said-${i}` }))];
    // The details differ by the runs that have arrived.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [steps, at, resumed, key, messages, said]);
}
