/** Reads the body of a response from a server that may send anything: at most `limit` bytes of it are held. */

/**
 * The bytes of the body. Undefined when there are more than `limit`; the rest is not read.
 *
 * @throws what the body fails with; and when `signal` is aborted, its reason.
 */
export async function readWithin(
  response: Response,
  limit: number,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = response.body?.getReader();
  const cancel = () => void reader?.cancel().catch(() => undefined);
  signal.addEventListener("abort", cancel, { once: true });
  try {
    for (let read = await reader?.read(); read && !read.done && size <= limit; read = await reader?.read()) {
      chunks.push(read.value);
      size += read.value.byteLength;
    }
  } finally {
    signal.removeEventListener("abort", cancel);
  }
  // A cancelled reader ends as a complete one does.
  signal.throwIfAborted();
  if (size <= limit) return Buffer.concat(chunks);
  cancel();
  return undefined;
}
