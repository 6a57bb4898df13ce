/** Work that a signal ends, also where the platform reads on: a call of a binding knows no signal, nor does the body of an answer. */

/** The promise's value, or the signal's reason when that comes first. */
export async function within<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const ended = Promise.withResolvers<never>();
  const end = () => ended.reject(signal.reason);
  signal.addEventListener("abort", end);
  try {
    return await Promise.race([work, ended.promise]);
  } finally {
    signal.removeEventListener("abort", end);
  }
}
