/** The text of an API key: `weir_key_`, 43 random letters and digits, and six that are their checksum. */
import { randomInt } from "node:crypto";
import { crc32 } from "node:zlib";

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const PREFIX = "weir_key_";
/** 62^43 is more than 2^256. */
const RANDOM = 43;
const CHECKSUM = 6;
/** The characters of a key that lists show. */
const HINT = PREFIX.length + 4;

export function newApiKey(): string {
  const random = Array.from({ length: RANDOM }, () => DIGITS[randomInt(DIGITS.length)]).join("");
  return PREFIX + random + checksum(random);
}

export function keyHint(key: string): string {
  return key.slice(0, HINT);
}

/**
 * Whether a text can be an API key. Scanners for leaked secrets, and the server before it asks its database, recognize
 * a key by its prefix and checksum. Keys of earlier versions (`weir_` and 43 characters) have neither.
 */
export function isApiKeyShaped(text: string): boolean {
  if (!text.startsWith(PREFIX)) return true;
  const random = text.slice(PREFIX.length, -CHECKSUM);
  return random.length === RANDOM && text.endsWith(checksum(random));
}

/** The CRC-32 of the random part, in base 62. */
function checksum(random: string): string {
  let rest = crc32(random);
  let text = "";
  for (let i = 0; i < CHECKSUM; i++) {
    text = DIGITS[rest % DIGITS.length] + text;
    rest = Math.floor(rest / DIGITS.length);
  }
  return text;
}
