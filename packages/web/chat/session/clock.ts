/** The displayed seconds. They are counted only while the page is visible. */
import { useEffect, useRef, useState, useSyncExternalStore } from "react";

/** The time now, in milliseconds since epoch; moves every half second while `ticking`. */
export function useClock(ticking: boolean): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!ticking) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, [ticking]);
  return now;
}

/** Seconds since the run was seen to start; keeps its last value when it ends. */
export function useRunClock(running: boolean): number {
  const started = useRef(0);
  const before = useRef(false);
  const now = useClock(running);
  if (running && !before.current) started.current = Date.now();
  before.current = running;
  return started.current === 0 ? 0 : Math.max(0, Math.round((now - started.current) / 1000));
}

function subscribe(listener: () => void): () => void {
  addEventListener("online", listener);
  addEventListener("offline", listener);
  return () => {
    removeEventListener("online", listener);
    removeEventListener("offline", listener);
  };
}

export function useOnline(): boolean {
  return useSyncExternalStore(subscribe, () => navigator.onLine);
}
