/** The decisions that wait at the end of a log, and a line for each that was made in this tab. */
import { Check } from "lucide-react";
import { useState } from "react";
import { clockTime } from "../ui/time.ts";
import type { Stream } from "./agent.ts";
import { Decision, type Reply } from "./Decision.tsx";
import css from "./Log.module.css";
import type { Pending } from "./pending.ts";
import { Tick } from "./Tick.tsx";

export function Decisions({
  stream,
  pending,
  context,
}: {
  stream: Stream;
  pending: Pending;
  context: Record<string, unknown>;
}) {
  const [replies, setReplies] = useState<Record<string, Reply>>({});
  const [made, setMade] = useState<{ said: string; at: string }[]>([]);
  const [sending, setSending] = useState(false);
  const waiting = pending.interrupts;

  const answer = (id: string, reply: Reply) => {
    // Questions of one checkpoint are answered together: the first answer alone would start the run without the rest.
    const all = { ...replies, [id]: reply };
    setReplies(all);
    if (waiting.some((one) => all[one.id] === undefined)) return;
    const ids = waiting.map((one) => one.id);
    const config = { configurable: context };
    setSending(true);
    pending.hide(ids);
    const sent =
      ids.length === 1
        ? stream.respond(reply.value, { interruptId: id, config })
        : stream.respondAll(Object.fromEntries(ids.map((one) => [one, all[one]!.value])), { config });
    sent
      .then(() => {
        setMade((before) => [...before, ...ids.map((one) => ({ said: all[one]!.said, at: new Date().toISOString() }))]);
        setReplies({});
      })
      .catch(() => pending.show(ids))
      .finally(() => setSending(false));
  };

  return (
    <>
      {made.map((one) => (
        <p key={one.at + one.said} className={css.answered}>
          <Check size={14} aria-hidden /> You {one.said} · {clockTime(one.at)}
        </p>
      ))}
      {waiting.length > 0 && (
        <div className={css.decisions}>
          {waiting.map((interrupt) => (
            <div key={interrupt.id} className={css.row}>
              <Tick kind="decision" />
              <Decision
                interrupt={interrupt}
                sending={sending || replies[interrupt.id] !== undefined}
                onReply={(reply) => answer(interrupt.id, reply)}
              />
            </div>
          ))}
        </div>
      )}
    </>
  );
}
