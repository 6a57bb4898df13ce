/**
 * multipart/form-data as the tracing SDKs send it (RFC 7578), read as it arrives. The platform's formData() is of no use
 * here: a part without a filename, such as an attachment, comes out of it as text with its bytes destroyed.
 */
import { Problem } from "../../http/problem.ts";

export interface Part {
  /** Empty when the part names none. */
  name: string;
  /** Its Content-Type, without parameters. */
  type: string;
  data: Uint8Array;
}

/** 100 runs make about 800 parts; this leaves room and still bounds the work of one request. */
const MAX_PARTS = 20_000;
const MAX_HEADER_BYTES = 16 * 1024;

const damaged = (what: string) => new Problem(400, `Malformed multipart body: ${what}.`);

/** The boundary that a Content-Type names. */
export function boundaryOf(contentType: string | null): string {
  if (!/^multipart\/form-data\b/i.test(contentType ?? "")) {
    throw new Problem(415, "Send runs as multipart/form-data, or as JSON to /runs/batch.");
  }
  const match = /;\s*boundary=(?:"([^"]{1,200})"|([^\s;]{1,200}))/i.exec(contentType ?? "");
  const boundary = match?.[1] ?? match?.[2];
  if (!boundary) throw damaged("the Content-Type names no boundary");
  return boundary;
}

/** The parts in their order. A part's claimed length is ignored: the boundary decides. */
export async function* readParts(chunks: AsyncIterable<Uint8Array>, boundary: string): AsyncGenerator<Part> {
  const input = new Input(chunks);
  const open = Buffer.from(`--${boundary}`);
  const close = Buffer.from(`\r\n--${boundary}`);
  if ((await input.until(open, Number.POSITIVE_INFINITY)) === undefined) throw damaged("its boundary does not occur");
  for (let count = 0; !(await atEnd(input)); count++) {
    if (count === MAX_PARTS) throw new Problem(413, `More than ${MAX_PARTS} parts. Send fewer runs at a time.`);
    const head = await input.until(Buffer.from("\r\n\r\n"), MAX_HEADER_BYTES);
    if (!head) throw damaged("a part's headers have no end");
    const data = await input.until(close, Number.POSITIVE_INFINITY);
    if (!data) throw damaged("it ends before its closing boundary");
    yield { ...readHead(new TextDecoder().decode(head)), data };
  }
}

/** After a boundary: `--` ends the body, a line break starts the next part's headers. */
async function atEnd(input: Input): Promise<boolean> {
  const mark = await input.take(2);
  if (mark === "--") return true;
  if (mark !== "\r\n") throw damaged("it ends before its closing boundary");
  return false;
}

function readHead(head: string): { name: string; type: string } {
  let name: string | undefined;
  let type = "application/octet-stream";
  for (const line of head.split("\r\n")) {
    const colon = line.indexOf(":");
    const value = line.slice(colon + 1).trim();
    const header = line.slice(0, Math.max(0, colon)).trim().toLowerCase();
    if (header === "content-disposition")
      name = /;\s*name=(?:"((?:[^"\\]|\\.)*)"|([^\s;]+))/i.exec(value)?.slice(1).find(Boolean);
    if (header === "content-type") type = (value.split(";")[0] ?? "").trim().toLowerCase();
  }
  return { name: name ?? "", type };
}

/** A buffer that grows by doubling, so that a large part is copied a bounded number of times. */
class Input {
  private buffer = Buffer.alloc(64 * 1024);
  private start = 0;
  private end = 0;
  private readonly chunks: AsyncIterator<Uint8Array>;

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.chunks = chunks[Symbol.asyncIterator]();
  }

  /** The bytes before the next `mark`, which is consumed too; undefined when it does not come (within `limit` bytes). */
  async until(mark: Buffer, limit: number): Promise<Buffer | undefined> {
    let scanned = this.start;
    for (;;) {
      const at = this.buffer.subarray(0, this.end).indexOf(mark, scanned);
      if (at !== -1) {
        if (at - this.start > limit) return undefined;
        const bytes = Buffer.from(this.buffer.subarray(this.start, at));
        this.start = at + mark.byteLength;
        return bytes;
      }
      if (this.end - this.start > limit) return undefined;
      const kept = Math.max(this.start, this.end - mark.byteLength + 1) - this.start;
      if (!(await this.more())) return undefined;
      scanned = this.start + kept;
    }
  }

  async take(count: number): Promise<string | undefined> {
    while (this.end - this.start < count) if (!(await this.more())) return undefined;
    this.start += count;
    return this.buffer.toString("latin1", this.start - count, this.start);
  }

  /** Appends the next chunk, moving what is left to the front. False at the end. */
  private async more(): Promise<boolean> {
    const next = await this.chunks.next();
    if (next.done) return false;
    const left = this.end - this.start;
    const needed = left + next.value.byteLength;
    const target =
      needed > this.buffer.byteLength ? Buffer.alloc(Math.max(needed, this.buffer.byteLength * 2)) : this.buffer;
    if (target !== this.buffer || this.start > 0) this.buffer.copy(target, 0, this.start, this.end);
    target.set(next.value, left);
    this.buffer = target;
    this.start = 0;
    this.end = needed;
    return true;
  }
}
