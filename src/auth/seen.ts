/** What an isolate counts for one credential while it lasts. */
import type { Principal } from "../http/principal.ts";

export interface Seen {
  /** When it was last known to last, milliseconds since 1970. */
  at: number;
}

/** Removes entries that were not seen for this many milliseconds: its request ended and its own code did not run. */
export function dropUnseen<Item extends Seen>(items: Set<Item>, ms: number): void {
  const oldest = Date.now() - ms;
  for (const item of items) if (item.at < oldest) items.delete(item);
}

export function credentialKey({ workspaceId, credentialId }: Principal): string {
  return `${workspaceId} ${credentialId}`;
}
