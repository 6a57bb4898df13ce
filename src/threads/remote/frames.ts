/** Where the reader of a stream of SSE frames is, so that the stream continues in the middle of a frame. */
import type { Place } from "./resume.ts";

/** Characters that the end of one frame and the beginning of the next take at most besides data: an id has fewer. */
const CARRY = 200;

/**
 * `open` opens the stream again after a sequence number (from its beginning without one). Frames of an event are always
 * the same bytes, so the reader's place is the last event that is complete, and the bytes that came after it.
 */
export function inFrames(open: (after?: number) => ReturnType<Place["open"]>, leave?: () => Promise<unknown>): Place {
  const decoder = new TextDecoder("latin1");
  /** The last event that is whole: another one has begun after it. */
  let whole: number | undefined;
  /** The event of the last frame that ended. An event may have more frames. */
  let latest: number | undefined;
  /** Bytes that have passed since `whole`, and since the last frame that ended. */
  let sinceWhole = 0;
  let sinceLatest = 0;
  let skip = 0;
  let carry = "";
  const follow = (chunk: Uint8Array) => {
    const text = carry + decoder.decode(chunk);
    const fresh = carry.length;
    let counted = fresh;
    for (const match of text.matchAll(/\nid: (?:\S*\|)?(\d+)\n\n/g)) {
      const end = match.index + match[0].length;
      if (end <= fresh) continue;
      sinceLatest += end - counted;
      counted = end;
      const seq = Number(match[1]);
      if (seq !== latest) {
        whole = latest;
        sinceWhole = sinceLatest;
        latest = seq;
      } else sinceWhole += sinceLatest;
      sinceLatest = 0;
    }
    sinceLatest += text.length - counted;
    carry = text.slice(-CARRY);
  };
  return {
    take(chunk) {
      const passed = chunk.subarray(Math.min(skip, chunk.length));
      skip -= chunk.length - passed.length;
      if (passed.length === 0) return [];
      follow(passed);
      return [passed];
    },
    async open() {
      skip = sinceWhole + sinceLatest;
      return open(whole);
    },
    async leave() {
      await leave?.();
    },
  };
}
