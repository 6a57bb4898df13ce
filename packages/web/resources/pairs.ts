/** Names with values, one in a line: headers of a webhook, variables of a prompt. */

export const writePairs = (pairs: Record<string, string> | null | undefined): string =>
  Object.entries(pairs ?? {})
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n");

/** @throws Error for a line without a name or without a colon */
export function readPairs(text: string, what: string): Record<string, string> {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(":");
      const name = line.slice(0, Math.max(at, 0)).trim();
      if (name === "") throw new Error(`${what}: write each as “name: value” in a line of its own.`);
      return [name, line.slice(at + 1).trim()];
    }),
  );
}
