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
