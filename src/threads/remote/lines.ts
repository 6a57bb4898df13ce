/**
 * Texts as the lines of a stream, each made on demand: the stream holds one. Errors before the first line are
 * thrown immediately.
 */
export async function lineStream(texts: AsyncGenerator<string, void, void>): Promise<ReadableStream<Uint8Array>> {
  const encoder = new TextEncoder();
  let first: IteratorResult<string, void> | undefined = await texts.next();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = first ?? (await texts.next());
        first = undefined;
        if (next.done) controller.close();
        else controller.enqueue(encoder.encode(`${next.value}\n`));
      },
      async cancel() {
        await texts.return();
      },
    },
    { highWaterMark: 0 },
  );
}
