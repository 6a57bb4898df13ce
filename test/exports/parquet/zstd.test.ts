import { zstdCompressSync } from "node:zlib";
import { expect, it } from "vitest";
import { zstd } from "../../../src/exports/parquet/chunk.ts";
import { unzstd } from "../../support/zstd.ts";

it("compresses pages of any size and entropy into frames that a reader joins", () => {
  const text = new TextEncoder().encode(JSON.stringify({ role: "user", content: "what is a weir?" }).repeat(20_000));
  const mixed = new Uint8Array(Buffer.concat([text.subarray(0, 300_000), noise(200_000), text.subarray(0, 300_000)]));
  for (const page of [new Uint8Array(0), text, noise(1_000_000), mixed, noise(40_961)]) {
    expect(Buffer.compare(unzstd(zstd(page)), Buffer.from(page))).toBe(0);
  }
});

it("still needs its slices: the runtime refuses results past 40 KB", () => {
  // When this fails, the bug is fixed: let `zstd` be zstdCompressSync, and delete this test.
  expect(() => zstdCompressSync(noise(100_000))).toThrow(/unexpected end of file/i);
});

it("costs little over one frame", () => {
  const page = new TextEncoder().encode(
    Array.from({ length: 9_000 }, (_, i) => `{"n":${i},"x":"${i * 7919}"}`).join(""),
  );
  expect(zstd(page).length).toBeLessThan(page.length / 2);
});

/** Bytes that do not compress. getRandomValues gives 64 KB at a time. */
function noise(size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  for (let at = 0; at < size; at += 65_536) crypto.getRandomValues(bytes.subarray(at, at + 65_536));
  return bytes;
}
