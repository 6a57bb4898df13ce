/** Requests for one id each that are made at the same time become one request for all of them. */

/** The most ids of a request, which its address holds. */
const MOST = 50;

export function together<T>(read: (ids: string[]) => Promise<ReadonlyMap<string, T>>): (id: string) => Promise<T> {
  let waiting = new Map<string, PromiseWithResolvers<T>>();
  const send = (): void => {
    const all = [...waiting];
    waiting = new Map();
    for (let at = 0; at < all.length; at += MOST) {
      const some = all.slice(at, at + MOST);
      const answer = read(some.map(([id]) => id));
      for (const [id, { resolve, reject }] of some) answer.then((found) => resolve(found.get(id) as T), reject);
    }
  };
  return (id) => {
    if (waiting.size === 0) setTimeout(send);
    const known = waiting.get(id) ?? Promise.withResolvers<T>();
    waiting.set(id, known);
    return known.promise;
  };
}
