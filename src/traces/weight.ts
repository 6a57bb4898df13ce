/** How much of an RPC message a write takes. */
import type { RunWrite } from "./types.ts";

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
