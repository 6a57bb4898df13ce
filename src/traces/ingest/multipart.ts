/**
 * multipart/form-data as the tracing SDKs send it (RFC 7578), read as it arrives. The platform's formData() is of no use
 * here: a part without a filename, such as an attachment, is returned by it as text with damaged bytes.
 */
import { Problem } from "../../lib/problem.ts";
import { giveBack } from "./body.ts";

export interface MultipartPart {
  /** Empty when the part names none. */
  name: string;
  /** Its Content-Type, without parameters. */
  type: string;
  /** Undefined for a part that is no file. */
  filename?: string | undefined;
  /**
   * Undefined when the part is larger than `PART_BYTES`. Data of up to `KEPT_BYTES` is a view on a buffer that is reused, so
   * it must be copied to be kept. Larger data owns its buffer.
   */
  data: Uint8Array | undefined;
}

export const PART_BYTES = 20 * 1024 * 1024;
const KEPT_BYTES = 256 * 1024;

/** 100 runs make about 800 parts; this leaves room and still bounds the work of one request. */
const MAX_PARTS = 20_000;
const MAX_HEADER_BYTES = 16 * 1024;

const malformedPart = (what: string) => new Problem(400, `Malformed multipart body: ${what}.`);

export function readBoundary(contentType: string | null): string {
  if (!/^multipart\/form-data\b/i.test(contentType ?? "")) {
    throw new Problem(415, "Send runs as multipart/form-data, or as JSON to /runs/batch.");
  }
  const match = /;\s*boundary=(?:"([^"]{1,200})"|([^\s;]{1,200}))/i.exec(contentType ?? "");
  const boundary = match?.[1] ?? match?.[2];
  if (!boundary) throw malformedPart("the Content-Type names no boundary");
  return boundary;
}

/**
 * Hands out the parts in their order. A part's claimed length is ignored: the boundary decides. The parts that a chunk
 * completes are handed out without a pause, for a batch has hundreds and each pause is a turn of the event loop. Between
 * chunks `pause` is awaited with the number of buffered bytes.
 */
export async function readParts(
  chunks: AsyncIterable<Uint8Array>,
  boundary: string,
  take: (part: MultipartPart) => void,
  pause: (waiting: number) => Promise<void>,
): Promise<void> {
  const parser = new Parser(boundary, take);
  for await (const chunk of chunks) {
    const ended = parser.push(chunk);
    giveBack(chunk);
    if (ended) return;
    await pause(parser.waiting);
  }
  throw parser.incomplete();
}

type Head = Pick<MultipartPart, "name" | "type" | "filename">;

function readHead(head: string): Head {
  let name: string | undefined;
  let filename: string | undefined;
  let type = "application/octet-stream";
  for (const line of head.split("\r\n")) {
    const colon = line.indexOf(":");
    const value = line.slice(colon + 1).trim();
    const header = line.slice(0, Math.max(0, colon)).trim().toLowerCase();
    if (header === "content-disposition") {
      name = /;\s*name=(?:"((?:[^"\\]|\\.)*)"|([^\s;]+))/i.exec(value)?.slice(1).find(Boolean);
      filename = /;\s*filename=(?:"((?:[^"\\]|\\.)*)"|([^\s;]+))/i.exec(value)?.slice(1).find(Boolean);
    }
    if (header === "content-type") type = (value.split(";")[0] ?? "").trim().toLowerCase();
  }
  return { name: name ?? "", type, filename };
}

const decoder = new TextDecoder();
const HEAD_END = Buffer.from("\r\n\r\n");

/**
 * The next element of the body: anything up to the first boundary, what follows a boundary, headers, or a part's data.
 */
type State = "preamble" | "mark" | "head" | "data";

class Parser {
  private readonly input = new Input();
  private readonly open: Buffer;
  private readonly close: Buffer;
  private state: State = "preamble";
  private head: Head = { name: "", type: "" };
  private count = 0;
  /** The current part is too large. Its data is discarded while it arrives. */
  private oversized = false;

  constructor(
    boundary: string,
    private readonly take: (part: MultipartPart) => void,
  ) {
    this.open = Buffer.from(`--${boundary}`);
    this.close = Buffer.from(`\r\n--${boundary}`);
  }

  get waiting(): number {
    return this.input.left;
  }

  /** Takes the next bytes. True when the body's end has been read. */
  push(chunk: Uint8Array): boolean {
    this.input.append(chunk);
    let next: State | "end" | undefined;
    while ((next = this.step()) !== undefined) {
      if (next === "end") return true;
      this.state = next;
    }
    return false;
  }

  /** Why the body cannot have ended here. */
  incomplete(): Problem {
    if (this.state === "preamble") return malformedPart("its boundary does not occur");
    return malformedPart(
      this.state === "head" ? "a part's headers have no end" : "it ends before its closing boundary",
    );
  }

  /** Reads one piece and returns what follows it; undefined when more bytes are needed. */
  private step(): State | "end" | undefined {
    switch (this.state) {
      case "preamble":
        if (this.input.until(this.open)) return "mark";
        this.input.drop();
        return undefined;
      case "mark":
        return this.readMark();
      case "head":
        return this.readHead();
      case "data":
        return this.readData();
    }
  }

  private readData(): State | undefined {
    const data = this.input.until(this.close);
    if ((data?.byteLength ?? this.input.left) > PART_BYTES) this.oversized = true;
    if (!data) {
      if (this.oversized) this.input.drop();
      return undefined;
    }
    this.take({ ...this.head, data: this.oversized ? undefined : data });
    this.oversized = false;
    return "mark";
  }

  /** After a boundary: `--` ends the body, a line break starts the next part's headers. */
  private readMark(): State | "end" | undefined {
    const mark = this.input.take(2);
    if (mark === undefined) return undefined;
    if (mark === "--") return "end";
    if (mark !== "\r\n") throw malformedPart("it ends before its closing boundary");
    if (this.count++ === MAX_PARTS) throw new Problem(413, `More than ${MAX_PARTS} parts. Send fewer runs at a time.`);
    return "head";
  }

  private readHead(): State | undefined {
    const head = this.input.until(HEAD_END);
    if ((head?.byteLength ?? this.input.left) > MAX_HEADER_BYTES) throw malformedPart("a part's headers have no end");
    if (head) this.head = readHead(decoder.decode(head));
    return head && "data";
  }
}

/** A buffer that grows by half, so that a large part is copied a bounded number of times. */
class Input {
  private buffer = Buffer.alloc(64 * 1024);
  private start = 0;
  private end = 0;
  /** Where the search for the next mark continues: the bytes before have been searched. */
  private searched = 0;

  get left(): number {
    return this.end - this.start;
  }

  /** The bytes before the next `mark`, which is consumed too; undefined when it has not come yet. Valid until `append`. */
  until(mark: Buffer): Buffer | undefined {
    const at = this.buffer.subarray(0, this.end).indexOf(mark, Math.max(this.start, this.searched));
    if (at === -1) {
      this.searched = Math.max(this.start, this.end - mark.byteLength + 1);
      return undefined;
    }
    const bytes = this.buffer.subarray(this.start, at);
    this.start = at + mark.byteLength;
    if (bytes.byteLength > KEPT_BYTES) this.moveOn();
    return bytes;
  }

  /** Discards the bytes that have been searched. */
  drop(): void {
    this.start = Math.max(this.start, this.searched);
  }

  take(count: number): string | undefined {
    if (this.left < count) return undefined;
    this.start += count;
    return this.buffer.toString("latin1", this.start - count, this.start);
  }

  /** Hands the buffer over to the part that refers to it, and copies the remaining bytes to a new buffer. */
  private moveOn(): void {
    const rest = this.buffer.subarray(this.start, this.end);
    this.buffer = Buffer.alloc(Math.max(64 * 1024, rest.byteLength));
    this.buffer.set(rest);
    this.start = 0;
    this.end = rest.byteLength;
    this.searched = 0;
  }

  /** Adds bytes, moving what is left to the front. */
  append(bytes: Uint8Array): void {
    const { left, start, end } = this;
    const needed = left + bytes.byteLength;
    const target =
      needed > this.buffer.byteLength
        ? Buffer.alloc(Math.max(needed, Math.ceil(this.buffer.byteLength * 1.5)))
        : this.buffer;
    if (target !== this.buffer || start > 0) this.buffer.copy(target, 0, start, end);
    target.set(bytes, left);
    if (target !== this.buffer) giveBack(this.buffer);
    this.buffer = target;
    this.searched = Math.max(0, this.searched - start);
    this.start = 0;
    this.end = needed;
  }
}
