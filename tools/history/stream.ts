/** Reads Server-Sent Events as raw bytes, up to a byte or a moment at which the connection is dropped. */
import { type Frame, now } from "./record.ts";

export interface Cut {
  /** Bytes after which the connection is dropped. */
  bytes?: number;
  /** Milliseconds after which it is dropped. */
  ms?: number;
  /** Milliseconds without a byte after which it is dropped. */
  quietMs?: number;
}

export interface Reading {
  frames: Frame[];
  /** Whether the server ended the stream. */
  ended: boolean;
}

/** One frame; undefined for a comment. Lines end in LF or CRLF. */
function parse(text: string): Frame | undefined {
  const data: string[] = [];
  let event = "message";
  let id: string | undefined;
  for (const line of text.split(/\r?\n/)) {
    const [, name, value = ""] = /^(event|data|id): ?(.*)$/.exec(line) ?? [];
    if (name === "data") data.push(value);
    if (name === "event") event = value;
    if (name === "id") id = value;
  }
  return data.length === 0 ? undefined : { event, data: data.join("\n"), at: now(), ...(id !== undefined && { id }) };
}

/** Reads until the stream ends or is cut. `stop` drops the connection. */
export async function readFrames(response: Response, cut: Cut, stop: AbortController): Promise<Reading> {
  const decoder = new TextDecoder();
  const frames: Frame[] = [];
  let left = cut.bytes ?? Infinity;
  let text = "";
  const drop = () => stop.abort();
  const whole = cut.ms === undefined ? undefined : setTimeout(drop, cut.ms);
  const pause = () => (cut.quietMs === undefined ? undefined : setTimeout(drop, cut.quietMs));
  let quiet = pause();
  try {
    for await (const chunk of response.body ?? []) {
      clearTimeout(quiet);
      quiet = pause();
      const bytes = chunk as Uint8Array;
      text += decoder.decode(bytes.subarray(0, left), { stream: true });
      left -= bytes.byteLength;
      const parts = text.split(/\r?\n\r?\n/);
      text = parts.pop() ?? "";
      for (const part of parts) {
        const frame = parse(part);
        if (frame) frames.push(frame);
      }
      if (left <= 0) {
        drop();
        return { frames, ended: false };
      }
    }
    return { frames, ended: !stop.signal.aborted };
  } catch {
    return { frames, ended: false };
  } finally {
    clearTimeout(whole);
    clearTimeout(quiet);
  }
}
