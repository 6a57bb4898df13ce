/**
 * Notices a run that the stream does not see: another tab, the API or a cron started it while the stream was idle. Or this tab
 * answered a question that arose while the stream was idle: its client sends the answer and subscribes to nothing.
 */
import { useEffect, useRef, useState } from "react";

/** Milliseconds in which the stream may still report the run by itself. */
const GRACE_MS = 1_000;

/** Whether a run that this view began is not in the stream in time. */
export function useUnseen(own: boolean, loading: boolean): boolean {
  const unseen = own && !loading;
  const [late, setLate] = useState(false);
  useEffect(() => {
    if (!unseen) return;
    const timer = setTimeout(() => setLate(true), GRACE_MS);
    return () => {
      clearTimeout(timer);
      setLate(false);
    };
  }, [unseen]);
  return unseen && late;
}

/**
 * Whether the newest run of the thread is one that the stream does not see. A run that it sees begins a phase.
 * Calls `onMissed` when the stream does not report it in time.
 *
 * @param opened the newest run when the thread was opened
 * @param newest the newest run as read last; undefined while it is not known
 * @param unseen the phase is about a run of this view that the stream does not see
 */
export function useMissed(
  phase: number,
  opened: string | undefined,
  newest: string | undefined,
  unseen: boolean,
  onMissed: () => void,
): boolean {
  const [known, setKnown] = useState({ phase, newest: opened });
  // The first read of a phase names the run that the phase is about.
  if (newest !== undefined && known.phase !== phase && !unseen) setKnown({ phase, newest });
  const missed = newest !== undefined && (known.phase === phase || unseen) && known.newest !== newest;
  const now = useRef(onMissed);
  useEffect(() => {
    now.current = onMissed;
  });
  useEffect(() => {
    if (!missed) return;
    const timer = setTimeout(() => now.current(), GRACE_MS);
    return () => clearTimeout(timer);
  }, [missed, phase]);
  return missed;
}
