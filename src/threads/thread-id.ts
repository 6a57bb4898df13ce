/** Ids of threads that callers name as they like. */
import { isUuid, uuidOf } from "../http/uuid.ts";

/**
 * The thread of a name, such as an A2A `contextId`. A UUID is the thread's own id; any other text, which callers are free
 * to choose, leads to the same UUID each time: a user's own, so that users may choose the same.
 */
export function threadIdOf(name: string, user?: string): string {
  if (isUuid(name)) return name.toLowerCase();
  return uuidOf(`a2a context ${user === undefined ? name : JSON.stringify([user, name])}`);
}
