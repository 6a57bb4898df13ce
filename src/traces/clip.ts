/** The first characters of texts. Characters are code points, as SQLite counts them. */

/** The first characters of a text. */
export function clip(text: string, most: number): string {
  if (text.length <= most) return text;
  return Array.from(text.slice(0, 2 * most))
    .slice(0, most)
    .join("");
}

/** The same of an SQL expression. SQLite's substr ends at U+0000, so a text that has one is left as it is. */
export function clipSql(text: string, most: number): string {
  return `CASE WHEN octet_length(${text}) <= ${most} OR instr(${text}, char(0)) > 0 THEN ${text} ELSE substr(${text}, 1, ${most}) END`;
}
