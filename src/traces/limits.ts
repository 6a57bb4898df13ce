/**
 * How much of a run its two rows hold, bytes of UTF-8. A row of SQLite holds 2,000,000 bytes: `payloads` takes at most
 * five payloads, one of them a joined `extra`, with both lists of pairs and the attachments (1,902,592 with `large`);
 * `runs` takes an error, metadata, tags, statistics of feedback and places (below 800,000).
 */

/** A payload of a run: readers have a whole one in memory. */
export const FIELD_BYTES = 10 * 1024 * 1024;
/** A payload past this lies in R2. */
export const LARGE_BYTES = 256 * 1024;
/** `extra` of a post joined with that of a patch. */
export const JOINED_EXTRA_BYTES = 512 * 1024;
/** `runs.metadata`: what filters look into. The metadata itself is in `extra`. */
export const FILTERED_METADATA_BYTES = 64 * 1024;
export const TAGS_BYTES = 128 * 1024;
/** `input_pairs` and `output_pairs`, each. */
export const PAIRS_BYTES = 128 * 1024;
export const ATTACHMENTS_BYTES = 64 * 1024;
/** The beginning of an error that lies in R2. */
export const ERROR_PREVIEW_BYTES = 16 * 1024;
