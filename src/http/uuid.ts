let last = 0;
let counter = 0;

/** A version 7 UUID (RFC 9562): milliseconds first, and within one millisecond still in order. */
export function uuidv7(now = Date.now()): string {
  counter = now <= last ? counter + 1 : crypto.getRandomValues(new Uint16Array(1))[0]! & 0x3ff;
  if (counter > 0xfff) {
    counter = 0;
    last += 1;
  }
  last = Math.max(last, now);
  const random = crypto.getRandomValues(new Uint8Array(8));
  random[0] = (random[0]! & 0x3f) | 0x80;
  const tail = Buffer.from(random).toString("hex");
  const head = last.toString(16).padStart(12, "0");
  const mid = (0x7000 | counter).toString(16);
  return `${head.slice(0, 8)}-${head.slice(8)}-${mid}-${tail.slice(0, 4)}-${tail.slice(4)}`;
}
