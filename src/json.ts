/** A parsed JSON object. */
export type Json = Record<string, unknown>;
