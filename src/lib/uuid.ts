/** UUIDs (RFC 9562): ordered by time, derived from a text, and their syntax check. */
import { createHash } from "node:crypto";
import { UUID_REGEX } from "valibot";

/** Whether the text is a UUID of any version, in either case. */
export function isUuid(text: string): boolean {
  return UUID_REGEX.test(text);
}

/** 32 hexadecimal digits with the dashes of a UUID. */
export function addDashes(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`;
}

let last = 0;
let counter = 0;

/** A version 7 UUID: milliseconds first, and in order within one millisecond. */
export function uuidv7(): string {
  const now = Date.now();
  counter = now <= last ? counter + 1 : crypto.getRandomValues(new Uint16Array(1))[0]! & 0x3ff;
  if (counter > 0xfff) {
    counter = 0;
    last += 1;
  }
  last = Math.max(last, now);
  const random = crypto.getRandomValues(new Uint8Array(8));
  random[0] = (random[0]! & 0x3f) | 0x80;
  const head = last.toString(16).padStart(12, "0");
  return addDashes(head + (0x7000 | counter).toString(16) + Buffer.from(random).toString("hex"));
}

/** A version 8 UUID that is always the same for the same text and cannot be guessed without it. */
export function deriveUuid(text: string): string {
  return uuidFromHash(createHash("sha256").update(text).digest(), 8);
}

/** Whether the id may be one that `deriveUuid` has made. */
export const isDerivedUuid = (id: string): boolean => /^.{14}8/.test(id);

/** The version 5 UUID of a name in a namespace, which is itself a UUID. */
export function uuidv5(namespace: string, name: string): string {
  const hash = createHash("sha1").update(Buffer.from(namespace.replaceAll("-", ""), "hex"));
  return uuidFromHash(hash.update(name).digest(), 5);
}

function uuidFromHash(bytes: Buffer, version: number): string {
  bytes[6] = (bytes[6]! & 0x0f) | (version << 4);
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return addDashes(bytes.toString("hex"));
}

/** Version 7 and the variant of RFC 9562: of the other ids with a 7 there, three in four have another variant. */
const VERSION_7 = /^.{14}7.{4}[89ab]/i;

/** The time inside a UUIDv7, milliseconds; undefined for other ids. */
export function readUuidMillis(id: string): number | undefined {
  return VERSION_7.test(id) ? Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) : undefined;
}
