/** Where the bytes of a stream come from. Each stream that passes bytes on costs every chunk a turn of the event loop. */

export interface Source {
  /** The next bytes; undefined at the end. */
  next: () => Promise<Uint8Array | undefined>;
  /** The reader has left before the end. */
  leave: () => Promise<unknown>;
}

/** The sources of the streams that `streamFrom` has made. */
const sources = new WeakMap<ReadableStream, Source>();

/** A stream of the source's bytes. Nothing is read from the source before the stream is read. */
export function streamFrom(source: Source): ReadableStream<Uint8Array> {
  let left = false;
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const bytes = await source.next();
        if (left) return;
        if (bytes) controller.enqueue(bytes);
        else controller.close();
      },
      async cancel() {
        left = true;
        await source.leave();
      },
    },
    { highWaterMark: 0 },
  );
  sources.set(stream, source);
  return stream;
}

/** The bytes of a stream. One of `streamFrom` is not read for them, but its source. The caller is its only reader. */
export function toSource(stream: ReadableStream<Uint8Array>): Source {
  const source = sources.get(stream);
  if (source) return source;
  const reader = stream.getReader();
  return { next: async () => (await reader.read()).value, leave: async () => reader.cancel() };
}
