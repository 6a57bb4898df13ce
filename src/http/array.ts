/** An answer that is a JSON array, written as its items come: however long, it is never in memory whole. */
export function jsonArray<T>(
  items: AsyncGenerator<T, void, void>,
  shown: (item: T) => unknown = (item) => item,
): Response {
  const encoder = new TextEncoder();
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
  return new Response(body, { headers: { "content-type": "application/json" } });
}
