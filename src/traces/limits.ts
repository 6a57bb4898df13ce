import type { RunWrite } from "./types.ts";

/**
 * The limits of the columns of a run, bytes of UTF-8. A SQLite row holds 2,000,000 bytes. A row of `payloads` has at most
 * 1,902,592: four payloads, a joined `extra`, two lists of pairs, attachments and `large`. A row of `packs` has at most 98,304
 * (partition/store/payloads.ts). A row of `runs` has at most 800,000: an error, metadata, tags, feedback statistics and places.
 */

/** The most bytes of one payload. Readers may hold a whole payload in memory. */
export const FIELD_BYTES = 10 * 1024 * 1024;
/** A larger payload is stored in R2. */
export const LARGE_BYTES = 256 * 1024;
/** The `extra` of a post joined with that of a patch. */
export const JOINED_EXTRA_BYTES = 512 * 1024;
/** `runs.metadata`, which filters search. The complete metadata is in `extra`. */
export const FILTERED_METADATA_BYTES = 64 * 1024;
export const TAGS_BYTES = 128 * 1024;
/** `input_pairs` and `output_pairs`, each. */
export const PAIRS_BYTES = 128 * 1024;
export const ATTACHMENTS_BYTES = 64 * 1024;
/** The beginning of an error that is stored in R2. */
export const ERROR_PREVIEW_BYTES = 16 * 1024;

// How much of an RPC message a write takes.

/**
 * The approximate size of a write in an RPC message, in UTF-16 units. The platform serialises a unit as one or two
 * bytes.
 */
export function weighWrite(write: RunWrite): number {
  let weight = 1_000;
  for (const value of Object.values(write)) {
    if (typeof value === "string") weight += value.length;
    else if (Array.isArray(value))
      for (const item of value) weight += 50 + (typeof item === "string" ? item.length : item.name.length);
    else if (typeof value === "object")
      weight += "text" in value ? value.text.length : "preview" in value ? value.preview.length : 0;
  }
  return weight;
}
