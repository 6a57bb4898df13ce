/** Compression of Parquet pages. */
import { gzipSync, zstdCompressSync } from "node:zlib";
import type { CompressionCodec } from "hyparquet";

/** The names that `compression` may have on the wire, and Parquet's names for them. */
export const CODECS = {
  none: "UNCOMPRESSED",
  gzip: "GZIP",
  snappy: "SNAPPY",
  zstandard: "ZSTD",
} as const satisfies Record<string, CompressionCodec>;

export type Compression = keyof typeof CODECS;

/** gzip at level 1: a third of the time of level 6 for a sixth more bytes. SNAPPY is built into the writer. */
export const COMPRESSORS = {
  GZIP: (bytes: Uint8Array) => gzipSync(bytes, { level: 1 }),
  ZSTD: zstd,
} satisfies { [codec in CompressionCodec]?: (bytes: Uint8Array) => Uint8Array };

/** Input this small never fails, however it compresses. */
const SAFE_SLICE = 30_000;
const FIRST_SLICE = 240_000;

/**
 * workerd's zstdCompressSync throws "Unexpected end of file" when the result passes about 40 KB. A page may hold several
 * frames one after the other, so a page is cut into slices whose size follows what went through.
 * test/exports/zstd.test.ts tells when this is no longer needed.
 */
export function zstd(bytes: Uint8Array): Uint8Array {
  const frames: Uint8Array[] = [];
  let size = FIRST_SLICE;
  for (let at = 0; at < bytes.length || frames.length === 0;) {
    const slice = bytes.subarray(at, at + size);
    const frame = tryZstd(slice);
    if (frame) {
      frames.push(frame);
      at += slice.length;
      size = nextSlice(slice.length, frame.length);
    } else {
      size = Math.max(SAFE_SLICE, Math.floor(Math.min(size, slice.length) / 2));
    }
  }
  return frames.length === 1 ? (frames[0] as Uint8Array) : Buffer.concat(frames);
}

function tryZstd(slice: Uint8Array): Uint8Array | undefined {
  if (slice.length <= SAFE_SLICE) return zstdCompressSync(slice);
  try {
    return zstdCompressSync(slice);
  } catch {
    return undefined;
  }
}

/** As much as should compress to three quarters of the limit, if what follows is like what went before. */
function nextSlice(input: number, output: number): number {
  return Math.max(SAFE_SLICE, Math.min(FIRST_SLICE, Math.floor((input / output) * SAFE_SLICE)));
}
