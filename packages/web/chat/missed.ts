/** Notices a run that the stream does not see: another tab, the API or a cron started it while the stream was idle. */
import { useEffect, useRef, useState } from "react";

/** Milliseconds in which the stream may still report the run by itself. */
const GRACE_MS = 1_000;

/**
 * Whether the newest run of the thread is one that began without this view. A run that the stream sees begins a phase.
 * Calls `onMissed` when the stream does not report it in time.
 *
 * @param opened the newest run when the thread was opened
 * @param newest the newest run as read last; undefined while it is not known
 */
export function useMissed(
  phase: number,
  opened: string | undefined,
  newest: string | undefined,
  onMissed: () => void,
): boolean {
  const [known, setKnown] = useState({ phase, newest: opened });
  // The first read of a phase names the run that the phase is about.
  if (newest !== undefined && known.phase !== phase) setKnown({ phase, newest });
  const missed = newest !== undefined && known.phase === phase && known.newest !== newest;
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
