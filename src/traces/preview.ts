/** Previews of payloads in lists. */

export const PREVIEW = 300;

/** The content of a single string or message, else the JSON. It is cut to `PREVIEW` characters. */
export function preview(text: string | null): string | null {
  if (text === null) return null;
  const value: unknown = JSON.parse(text);
  return (findSole(value) ?? text).slice(0, PREVIEW);
}

function findSole(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) return undefined;
  const items: unknown[] = Array.isArray(value) ? value.slice(-1) : Object.values(value);
  const content = (value as { content?: unknown }).content;
  if (typeof content === "string") return content;
  return items.length === 1 ? findSole(items[0]) : undefined;
}
