/** Objects in columns of JSON: sealed, a column holds an object with one member, the sealed text. */
import { isSealed, openOr, type Place, type Ring } from "../access/encryption/ring.ts";

export function sealJson<T extends object>(ring: Ring, value: T, place: Place): T {
  return ring.isOn ? ({ sealed: ring.seal(JSON.stringify(value), place) } as unknown as T) : value;
}

/** The object that was stored at this place. An object that only looks sealed was sent by a client, and is returned as it is. */
export function openJson<T extends object>(ring: Ring, held: T, place: Place): T {
  const { sealed } = held as { sealed?: unknown };
  if (!isSealed(sealed) || Object.keys(held).length !== 1) return held;
  const text = ring.open(sealed, place);
  return isSealed(text) ? held : (JSON.parse(text) as T);
}

/** The same for a list; undefined for an object whose key is destroyed. */
export function openListed<T extends object>(ring: Ring, held: T, place: Place): T | undefined {
  return openOr(() => openJson(ring, held, place), undefined);
}
