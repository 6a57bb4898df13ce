/** A fast first look at a text: what every match of a pattern contains. */

/** Literals of the pattern outside of groups and classes that no quantifier makes optional. */
const PIECE = /\\(.)|\[(?:\\.|[^\]\\])*\]|[()|^$.*+?{}]|[^\\[\](){}|^$.*+?]+/gsu;
const OPTIONAL = /^(?:[*?]|\{0)/;

/**
 * A text that each match of the pattern contains, the longest one; undefined when there may be none. Conservative: what is
 * not plain is not read.
 */
export function neededBy(pattern: string): string | undefined {
  // `\x41`, `\pL` and `\Q` take more than one character.
  if (/\\[^\W_dwsbDWSB]/.test(pattern)) return undefined;
  // A class may begin with its own bracket, or have a class of POSIX in it.
  if (/[[\]]/.test(pattern.replaceAll(/\\./g, "").replaceAll(/\[\^?[^[\]^][^[\]]*\]/g, ""))) return undefined;
  // A bar, a group or a flag may change what the rest means.
  if (/[|()]/.test(pattern.replaceAll(/\\./g, ""))) return undefined;
  const found: string[] = [];
  for (const piece of pattern.matchAll(PIECE)) {
    const [text, escaped] = piece;
    if (escaped !== undefined || /^[[^$.*+?{}]/.test(text)) continue;
    const after = pattern.slice(piece.index + text.length);
    if (/[*+?{]/.test(pattern[piece.index - 1] ?? "")) {
      // The inside of a counted repetition.
      if (/\{[\d,]*$/.test(pattern.slice(0, piece.index))) continue;
    }
    found.push(OPTIONAL.test(after) ? text.replace(/.$/su, "") : text);
  }
  return found.filter((text) => text !== "").toSorted((a, b) => b.length - a.length)[0];
}
