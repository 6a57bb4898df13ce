/** Texts as the lines of a stream, each made on demand. Errors before the first line are thrown immediately. */
export async function lineStream(texts: AsyncGenerator<string, void, void>): Promise<ReadableStream<Uint8Array>> {
  const encoder = new TextEncoder();
  let next = await texts.next();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (next.done) return controller.close();
      controller.enqueue(encoder.encode(`${next.value}\n`));
      next = await texts.next();
    },
    async cancel() {
      await texts.return();
    },
  });
}
