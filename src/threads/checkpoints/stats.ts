/** How much room a thread's checkpoints take. */
import type { Tables } from "../store/tables.ts";
import type { StorageFigures } from "../types.ts";
import type { Checkpoints } from "./checkpoints.ts";
import type { Ref } from "../log/values.ts";

export function storageFigures(checkpoints: Checkpoints, tables: Tables): StorageFigures {
  const byChannel: Record<string, { count: number; bytes: number }> = {};
  const seen = new Set<string>();
  let count = 0;
  let bytes = 0;
  for (const entry of checkpoints.list(undefined, {})) {
    count += 1;
    bytes += JSON.stringify(entry).length;
    for (const [channel, ref] of Object.entries(entry.refs)) {
      const figures = (byChannel[channel] ??= { count: 0, bytes: 0 });
      for (const [address, size] of parts(ref)) {
        if (seen.has(`${channel}|${address}`)) continue;
        seen.add(`${channel}|${address}`);
        figures.count += 1;
        figures.bytes += size;
      }
    }
  }
  const values = Object.values(byChannel);
  const channelBytes = values.reduce((sum, one) => sum + one.bytes, 0);
  const writes = tables.writesFigures();
  return {
    total_bytes: bytes + channelBytes + writes.bytes,
    checkpoints: { count, bytes },
    channel_values: {
      count: values.reduce((sum, one) => sum + one.count, 0),
      bytes: channelBytes,
      by_channel: byChannel,
    },
    pending_writes: writes,
  };
}

/** The separately stored parts of a value, with their sizes: shared ones are counted once. */
function parts(ref: Ref): [address: string, size: number][] {
  if ("l" in ref) return ref.l.map(([first, n, place, , size]) => [`${first}.${n}.${place}`, size]);
  if ("b" in ref) return [[ref.b, ref.s ?? 0]];
  const text = JSON.stringify(ref.v);
  return [[text, text.length]];
}
