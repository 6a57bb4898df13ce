/** The events of a stream as they pass: a client gets each of them whole or not at all. */

const END = Buffer.from("\n\n");
const CRLF_END = Buffer.from("\r\n\r\n");

export class Frames {
  #part: Buffer = Buffer.alloc(0);
  #sent = false;
  /** The id of the last event that was whole. */
  lastId: string | undefined;

  /** The events that are whole with this chunk. */
  add(chunk: Buffer): Buffer {
    const bytes = this.#part.byteLength > 0 ? Buffer.concat([this.#part, chunk]) : chunk;
    const isWhole = bytes.subarray(-END.byteLength).equals(END);
    const end = isWhole ? bytes.byteLength : Math.max(endAfter(bytes, END), endAfter(bytes, CRLF_END));
    const whole = bytes.subarray(0, end);
    this.#part = bytes.subarray(end);
    if (end > 0) {
      const ids = [...whole.toString("utf8").matchAll(/^id: ?(.*?)\r?$/gm)];
      this.lastId = ids.at(-1)?.[1] ?? this.lastId;
      this.#sent = true;
    }
    return whole;
  }

  /** What came after the last whole event. It is dropped. */
  rest(): Buffer {
    const part = this.#part;
    this.#part = Buffer.alloc(0);
    return part;
  }

  /** Whether another stream can begin where this one ended. */
  get canResume(): boolean {
    return !this.#sent || this.lastId !== undefined;
  }
}

function endAfter(bytes: Buffer, end: Buffer): number {
  const at = bytes.lastIndexOf(end);
  return at < 0 ? 0 : at + end.byteLength;
}
