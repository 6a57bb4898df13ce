/** Limits of examples, bytes of UTF-8. A row of D1 holds 2,000,000 bytes, and a page of 100 examples is read at once. */

/** A larger body is stored in R2. */
export const INLINE_BYTES = 32 * 1024;
/** The most bytes of `inputs` or `outputs`. */
export const BODY_BYTES = 10 * 1024 * 1024;
export const EXAMPLE_METADATA_BYTES = 64 * 1024;
/** The list of an example's attachments: their names, types and sizes. */
export const ATTACHMENT_LIST_BYTES = 64 * 1024;
/** The most examples of one request. */
export const EXAMPLES = 10_000;
