/** Finds the known name that a misspelt one means. */

/** The known name that differs from `given` by case, by separators, or by one letter in a name of six or more; undefined when none does. */
export function suggestName(given: string, known: readonly string[]): string | undefined {
  if (known.includes(given)) return undefined;
  const word = normaliseName(given);
  return known.find((name) => distance(word, normaliseName(name)) <= (normaliseName(name).length < 6 ? 0 : 1));
}

const normaliseName = (name: string): string => name.toLowerCase().replaceAll(/[_-]/g, "");

/** How many letters to insert, delete or replace (Levenshtein). */
function distance(a: string, b: string): number {
  // A name that is longer by more than any tolerance needs no comparison.
  if (Math.abs(a.length - b.length) > 4) return Infinity;
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (const [row, letter] of a.split("").entries()) {
    const current = [row + 1];
    for (let column = 1; column <= b.length; column++) {
      const replaced = (above[column - 1] ?? 0) + (letter === b[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, (above[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    above = current;
  }
  return above[b.length] ?? 0;
}
