/** The Worker's side of a reader that waits while no run is in progress (see log/sleepers.ts). */
import { GONE, PROBE } from "../log/sleepers.ts";

/** Waits until the log has changed after a sequence number. */
export interface Sleep {
  /** False when the thread was deleted. */
  woken: Promise<boolean>;
  /** Ends the wait: `woken` resolves. */
  leave: () => void;
}

/** The object of the thread. */
type Sleeping = Pick<ReturnType<Env["THREAD"]["get"]>, "fetch">;

/** Milliseconds between two probes of the connection. One that was not answered when the next is due is broken. */
const PROBE_MS = 30_000;

const URL_PREFIX = "https://thread/sleep/";

/** The sequence number in the address of a sleep; undefined for the address of anything else. */
export function sleepAfter(url: string): number | undefined {
  return url.startsWith(URL_PREFIX) ? Number(url.slice(URL_PREFIX.length)) : undefined;
}

/** A connection that fails counts as a change: the reader then looks again, and meets the error if it lasts. */
export function sleepOn(object: Sleeping, after: number): Sleep {
  let finish: (changed: boolean) => void = () => undefined;
  const woken = new Promise<boolean>((resolve) => (finish = resolve));
  const wait = async () => {
    const { webSocket: socket } = await object.fetch(URL_PREFIX + String(after), { headers: { upgrade: "websocket" } });
    if (!socket) return finish(true);
    let answered = true;
    socket.addEventListener("message", () => (answered = true));
    socket.addEventListener("close", ({ code }) => finish(code !== GONE));
    socket.addEventListener("error", () => finish(true));
    socket.accept();
    const timer = setInterval(() => {
      if (!answered) return finish(true);
      answered = false;
      socket.send(PROBE);
    }, PROBE_MS);
    await woken;
    clearInterval(timer);
    socket.close();
  };
  wait().catch(() => finish(true));
  return { woken, leave: () => finish(false) };
}
