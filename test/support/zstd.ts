/**
 * workerd's zstdDecompressSync stops after the first frame; other readers continue to the last (RFC 8878, section 3.1).
 */
import { zstdDecompressSync } from "node:zlib";

export function unzstd(bytes: Uint8Array): Uint8Array {
  const frames: Uint8Array[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = frameEnd(bytes, at);
    frames.push(zstdDecompressSync(bytes.subarray(at, end)));
    at = end;
  }
  return new Uint8Array(Buffer.concat(frames));
}

function frameEnd(bytes: Uint8Array, start: number): number {
  const descriptor = bytes[start + 4] as number;
  const single = (descriptor & 0x20) !== 0;
  const contentSize = [single ? 1 : 0, 2, 4, 8][descriptor >> 6] as number;
  const dictionaryId = [0, 1, 2, 4][descriptor & 3] as number;
  let at = start + 5 + (single ? 0 : 1) + dictionaryId + contentSize;
  for (;;) {
    const header = (bytes[at] as number) | ((bytes[at + 1] as number) << 8) | ((bytes[at + 2] as number) << 16);
    const runLength = ((header >> 1) & 3) === 1;
    at += 3 + (runLength ? 1 : header >> 3);
    if (header & 1) return at + (descriptor & 4 ? 4 : 0);
  }
}
