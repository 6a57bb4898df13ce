/** Finds formulas in the dialects that models write, and gives them the one that the renderer reads: `$$…$$`. */

/** Code, `\[…\]`, `\(…\)`, `$$…$$` and `$…$`. */
const SPANS =
  /(`+)[\s\S]*?\1|\\\[([\s\S]+?)\\\]|\\\(([^\n]+?)\\\)|\$\$[\s\S]+?\$\$|\$(?![\s$])([^$\n]+?)(?<!\s)\$(?!\d)/g;
/** Between two single dollars only this is a formula: prices have dollars too. */
const FORMULA = /[\\^_={}<>]|^[a-zA-Z]$/;

/** The block with its formulas as `$$…$$`; undefined when it has none. Code stays as it is. */
export function withFormulas(block: string): string | undefined {
  let found = false;
  const text = block.replaceAll(
    SPANS,
    (whole: string, code?: string, display?: string, inline?: string, single?: string) => {
      if (code !== undefined || (single !== undefined && !FORMULA.test(single))) return whole;
      found = true;
      if (display !== undefined) return `\n$$\n${display.trim()}\n$$\n`;
      const formula = inline ?? single;
      return formula === undefined ? whole : `$$${formula}$$`;
    },
  );
  return found ? text : undefined;
}
