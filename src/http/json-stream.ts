/** Answers that are a JSON array, written as its items come: however long, they are never in memory whole. */
import { toSource, streamFrom } from "../lib/streams.ts";

const encoder = new TextEncoder();
const LINE_FEED = 10;
const COMMA = 44;

/** A JSON array of the lines of a stream, each of which is JSON. Items are not parsed. */
export function jsonArrayOfLines(lines: ReadableStream<Uint8Array>): Response {
  const { next, leave } = toSource(lines);
  let before = "[";
  let waiting: Uint8Array | undefined;
  let ended = false;
  const read = async (): Promise<Uint8Array | undefined> => {
    const bytes = waiting ?? (await next());
    waiting = undefined;
    if (!bytes) {
      ended = true;
      return encoder.encode(before === "[" ? "[]" : "]");
    }
    if (before !== "") {
      waiting = bytes;
      const opened = encoder.encode(before);
      before = "";
      return opened;
    }
    // A line feed may stand between two items of an array. The comma takes the place of those that another line follows.
    for (let at = bytes.indexOf(LINE_FEED); at !== -1 && at < bytes.length - 1; at = bytes.indexOf(LINE_FEED, at + 1)) {
      bytes[at] = COMMA;
    }
    if (bytes.at(-1) === LINE_FEED) before = ",";
    return bytes;
  };
  return jsonResponse(streamFrom({ next: async () => (ended ? undefined : read()), leave }));
}

const jsonResponse = (body: ReadableStream<Uint8Array>) =>
  new Response(body, { headers: { "content-type": "application/json" } });

export function jsonArray<T>(
  items: AsyncGenerator<T, void, void>,
  shown: (item: T) => unknown = (item) => item,
): Response {
  let open = "[";
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const item = await items.next();
      if (!item.done) {
        controller.enqueue(encoder.encode(open + JSON.stringify(shown(item.value))));
        open = ",";
        return;
      }
      controller.enqueue(encoder.encode(open === "[" ? "[]" : "]"));
      controller.close();
    },
    async cancel() {
      await items.return();
    },
  });
  return jsonResponse(body);
}

/** An answer made while it is sent, of JSON if no other type is given: it may be larger than an isolate's memory. */
export function jsonStream(
  chunks: AsyncGenerator<Uint8Array, void, void>,
  headers: Record<string, string> = { "content-type": "application/json" },
): Response {
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const next = await chunks.next();
      if (next.done) controller.close();
      else controller.enqueue(next.value);
    },
    async cancel() {
      await chunks.return();
    },
  });
  return new Response(body, { headers });
}
