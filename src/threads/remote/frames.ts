/** Where the reader of a stream of SSE frames is, so that the stream continues between two frames. */
import type { Place } from "../resume.ts";

/** Characters that the end of one frame and the beginning of the next take at most besides data: an id has fewer. */
const CARRY = 200;
/** Bytes of an incomplete frame that are held back. The frame of a token is never longer in practice. */
const HELD = 1_000_000;

/** How the stream's object is reached. */
interface Source {
  /** Opens the stream again after a sequence number, from its beginning without one. */
  open: (after?: number) => ReturnType<Place["open"]>;
  /** Whether the log has the event: a token may be lost with the process that sent it. */
  has: (seq: number) => Promise<boolean>;
  leave?: () => Promise<unknown>;
}

/**
 * An event may have several frames, and frames of an event are always the same bytes. So the reader's place is the last event that
 * is complete, and the bytes that came after it. Whole frames are passed on, because a token of which a half has been passed on
 * may be lost.
 */
export function placeInFrames({ open, has, leave }: Source): Place {
  const decoder = new TextDecoder("latin1");
  /** The last event that is whole: another one has begun after it. */
  let whole: number | undefined;
  /** The event of the last frame that ended. */
  let latest: number | undefined;
  /** Bytes of whole frames since `whole`, and bytes since the last of these that have been passed on. */
  let sinceWhole = 0;
  let begun = 0;
  let held: Uint8Array[] = [];
  let skip = 0;
  let carry = "";

  /** The bytes up to the last frame that `chunk` ends, 0 when it ends none. */
  const findFrameEnd = (chunk: Uint8Array, before: number): number => {
    const text = carry + decoder.decode(chunk);
    const fresh = carry.length;
    let counted = fresh - before;
    let last = 0;
    for (const match of text.matchAll(/\nid: (?:\S*\|)?(\d+)\n\n/g)) {
      const end = match.index + match[0].length;
      if (end <= fresh) continue;
      const seq = Number(match[1]);
      if (seq !== latest) {
        whole = latest;
        sinceWhole = 0;
        latest = seq;
      }
      sinceWhole += end - counted;
      counted = end;
      last = end - fresh;
    }
    carry = text.slice(-CARRY);
    return last;
  };

  const follow = (chunk: Uint8Array): Uint8Array[] => {
    const waiting = sumLengths(held);
    const end = findFrameEnd(chunk, begun + waiting);
    if (end > 0) {
      const passed = [...held, chunk.subarray(0, end)];
      begun = 0;
      held = end < chunk.length ? [chunk.subarray(end)] : [];
      return passed;
    }
    held.push(chunk);
    if (begun === 0 && waiting + chunk.length <= HELD) return [];
    const passed = held;
    begun += waiting + chunk.length;
    held = [];
    return passed;
  };

  return {
    take(chunk) {
      const passed = chunk.subarray(Math.min(skip, chunk.length));
      skip -= chunk.length - passed.length;
      return passed.length === 0 ? [] : follow(passed);
    },
    rest(seq) {
      latest = whole = seq;
      sinceWhole = 0;
    },
    async open() {
      // At rest, and after a loss, the place is between two events.
      const isLost = latest !== undefined && latest !== whole && !(await has(latest));
      if (isLost && begun > 0) throw new Error("The stream was cut inside of a frame that is lost.");
      if (isLost) {
        whole = latest;
        sinceWhole = 0;
      }
      if (begun === 0) carry = "";
      held = [];
      skip = sinceWhole + begun;
      return open(whole);
    },
    async leave() {
      await leave?.();
    },
  };
}

const sumLengths = (chunks: Uint8Array[]): number => chunks.reduce((sum, { length }) => sum + length, 0);
