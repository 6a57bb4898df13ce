/**
 * The order in which the connections of one thread show a pause to the Python SDK. Its lifecycle watcher is a connection of
 * its own, and a question there ends all iterators. So the watcher shows a question when the run has paused and the
 * iterators' connections have shown everything before that. Their own end follows: by then the caller finds the question
 * in `thread.interrupts`.
 */
import type { EventText, Framing } from "../../threads/log/events.ts";

/** Encloses the number of the event at which a run pauses. Neither JSON nor what else a tail sends has the character. */
const MARK = "\u0002";
const CODE = MARK.charCodeAt(0);

/** Milliseconds in which a client opens the connections of its iterators after the answer to `run.start`. */
const OPENING = 150;
/** Milliseconds by which what was sent first on one connection may arrive later than what was sent on another. */
const SKEW = 40;
/** Milliseconds after which a connection that does not read is no longer waited for. */
const MOST = 2_000;
const STEP = 10;

interface Reader {
  watches: boolean;
  /** Everything before the pause of this number was handed out. */
  reached: number;
  /** The pause of this number, too. */
  shown: number;
}

/** Whether a connection is a lifecycle watcher: it subscribes to questions, and to nothing that a graph emits. */
export const watchesLifecycle = (channels: string[]): boolean =>
  channels.some((channel) => channel.startsWith("input")) &&
  channels.every((channel) => channel === "lifecycle" || channel.startsWith("input"));

/** The framing with a mark before each pause. A watcher's questions, and what follows them, come with the end of their run. */
export function markPauses(framing: Framing, channels: string[]): Framing {
  const isWatcher = watchesLifecycle(channels);
  let kept = "";
  return (event) => {
    const text = framing(event);
    const ending = rootEnd(event);
    if (isWatcher && !ending && (kept || event.method === "input.requested")) {
      kept += text;
      return "";
    }
    const shown = ending ? `${kept}${text}` : text;
    if (ending) kept = "";
    return shown && ending?.event === "interrupted" && ending.reason === "input"
      ? `${MARK}${event.seq}${MARK}${shown}`
      : shown;
  };
}

function rootEnd(event: EventText): { event: string; reason?: string } | undefined {
  if (event.method !== "lifecycle" || event.ns.length > 0) return undefined;
  const data = JSON.parse(event.text()) as { event: string; reason?: string };
  return data.event === "running" ? undefined : data;
}

/** The Python SDK's connections to one thread, in the thread's object. */
export class Pauses {
  #readers = new Set<Reader>();

  /** `last`: the number of the thread's last event. */
  constructor(private readonly last: () => Promise<number>) {}

  /** Frames of `markPauses` without the marks, each pause in its turn. `after`: events up to this number are not shown. */
  ordered(frames: ReadableStream<Uint8Array>, channels: string[], after: number): ReadableStream<Uint8Array> {
    const reader: Reader = { watches: watchesLifecycle(channels), reached: after, shown: after };
    this.#readers.add(reader);
    const leave = () => this.#readers.delete(reader);
    const source = frames.getReader();
    const encoder = new TextEncoder();
    const decoder = new TextDecoder();
    /** A mark whose end has not been read. */
    let begun = "";
    return new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        const { done, value } = await source.read();
        if (done) {
          leave();
          return controller.close();
        }
        if (begun === "" && !value.includes(CODE)) return controller.enqueue(value);
        // Frames, and between them the numbers of pauses.
        const [first = "", ...pieces] = `${begun}${decoder.decode(value)}`.split(MARK);
        begun = pieces.length % 2 === 0 ? "" : `${MARK}${pieces.pop()}`;
        if (first) controller.enqueue(encoder.encode(first));
        for (let i = 0; i < pieces.length; i += 2) {
          const seq = Number(pieces[i]);
          await this.#turn(reader, seq);
          controller.enqueue(encoder.encode(pieces[i + 1]));
          reader.shown = seq;
        }
      },
      cancel: async (reason) => {
        leave();
        await source.cancel(reason);
      },
    });
  }

  /** Resolves when the connection may show the pause. One that is over, because a run has followed, is shown at once. */
  async #turn(reader: Reader, seq: number): Promise<void> {
    reader.reached = seq;
    if (seq < (await this.last())) return;
    if (reader.watches) {
      await scheduler.wait(OPENING);
      await until(MOST, () => this.#all((one) => one.watches || one.reached >= seq));
    } else {
      // The watcher's connection may still be on its way.
      await until(OPENING, () => !this.#all((one) => !one.watches));
      await until(MOST, () => this.#all((one) => !one.watches || one.shown >= seq));
    }
    await scheduler.wait(SKEW);
  }

  #all(holds: (reader: Reader) => boolean): boolean {
    return [...this.#readers].every(holds);
  }
}

/** Waits until this holds, and no longer than `most` milliseconds. */
async function until(most: number, holds: () => boolean): Promise<void> {
  for (let waited = 0; waited < most && !holds(); waited += STEP) await scheduler.wait(STEP);
}
