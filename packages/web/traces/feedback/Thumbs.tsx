/** Thumbs on a run, and a dialog for a score with a comment. They are disabled for who may not give feedback. */
import { MessageSquarePlus, ThumbsDown, ThumbsUp } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { useMe, useAction } from "../../api/me.ts";
import { IconButton } from "../../ui/Button.tsx";
import css from "./feedback.module.css";
import { give, type Scored, takeBack, THUMBS, useOwnThumb } from "./queries.ts";

const GiveFeedback = lazy(async () => ({ default: (await import("./GiveFeedback.tsx")).GiveFeedback }));

const THUMB = [
  { score: 1, label: "Good answer", Icon: ThumbsUp },
  { score: 0, label: "Bad answer", Icon: ThumbsDown },
];

export function Thumbs({ run }: { run: Scored }) {
  const { data: me } = useMe();
  const own = useOwnThumb(run.id);
  const action = useAction("traces.annotate");
  const [pressed, setPressed] = useState<number | null>();
  const [open, setOpen] = useState(false);
  const stored = own.data?.score ?? null;
  // A pressed thumb is shown at once: the trace of a run that has just ended may not be stored yet.
  const score = action.busy && pressed !== undefined ? pressed : stored === null ? null : Number(stored);
  const press = (value: number) =>
    action.run(async () => {
      const before = own.data;
      const next = score === value ? null : value;
      setPressed(next);
      if (before && next === null && before.comment === null) await takeBack(before);
      else await give(run, me?.id, { key: THUMBS, score: next, comment: before?.comment ?? null }, before);
    });
  const shared = (label: string) => ({
    label,
    ...action.button,
    title: action.refusal === undefined ? label : `${label}: ${action.refusal}`,
  });
  return (
    <span className={css.thumbs} role="group" aria-label="Score">
      {THUMB.map(({ score: value, label, Icon }) => (
        <IconButton
          key={label}
          {...shared(label)}
          aria-pressed={score === value}
          className={css.thumb ?? ""}
          onClick={() => void press(value)}
        >
          <Icon size={14} aria-hidden />
        </IconButton>
      ))}
      <IconButton {...shared("Score and comment")} onClick={() => setOpen(true)}>
        <MessageSquarePlus size={14} aria-hidden />
      </IconButton>
      {own.data?.comment && <span className={css.comment}>{own.data.comment}</span>}
      {action.trouble !== "" && (
        <span className={css.trouble} role="alert">
          {action.trouble}
        </span>
      )}
      <Suspense>{open && <GiveFeedback run={run} before={own.data ?? null} onClose={() => setOpen(false)} />}</Suspense>
    </span>
  );
}
