/** Limits of examples, bytes of UTF-8. A row of D1 holds 2,000,000 bytes, and a page of 100 examples is read at once. */

/** A larger body is stored in R2. */
export const INLINE_BYTES = 32 * 1024;
/** The most bytes of `inputs` or `outputs`. */
export const BODY_BYTES = 10 * 1024 * 1024;
/** Bodies of one request that are not in R2, together. While they are written they take about five times as much memory. */
export const INLINE_TOTAL_BYTES = 8 * 1024 * 1024;
/** What examples of one request have besides their bodies, together. It is parsed, and a value takes more memory than its text. */
export const HEADS_BYTES = 4 * 1024 * 1024;
export const EXAMPLE_METADATA_BYTES = 64 * 1024;
/** The list of an example's attachments: their names, types and sizes. */
export const ATTACHMENT_LIST_BYTES = 64 * 1024;
/** The most examples of one request. */
export const EXAMPLES = 10_000;
