import { createHash } from "node:crypto";

/** A UUID (version 8, RFC 9562) that is always the same for the same text, and that nobody can guess without it. */
export function uuidOf(text: string): string {
  const hex = createHash("sha256").update(text).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
