/** The part of JSONPath (RFC 9535) that rules may use: names, indexes, wildcards and descendants. */

/** `deep`: at any depth below. `name` undefined: every member or element. */
export interface Segment {
  name: string | undefined;
  deep: boolean;
}

const TOKEN =
  /(\.\.?)(?:(\*)|([\p{L}_$][\p{L}\p{N}_$-]*))|(\.\.)?\[(?:(\*)|(\d{1,9})|'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\]/uy;

/** The segments of `$.inputs.user['full name']`, `$..password` or `$.inputs.messages[*].content`; undefined when it is none. */
export function parsePath(text: string): Segment[] | undefined {
  if (!text.startsWith("$")) return undefined;
  const segments: Segment[] = [];
  let at = 1;
  while (at < text.length) {
    TOKEN.lastIndex = at;
    const found = TOKEN.exec(text);
    if (!found) return undefined;
    const [whole, dots, , plain, descendants, , index, single, double] = found;
    const name = plain ?? index ?? (single ?? double)?.replaceAll(/\\(.)/g, "$1");
    segments.push({ name, deep: dots === ".." || descendants === ".." });
    at += whole.length;
  }
  if (segments.length === 0) return undefined;
  // `metadata` of a run is a member of `extra` on the wire.
  if (segments[0]?.name === "metadata" && !segments[0].deep) segments.unshift({ name: "extra", deep: false });
  return segments;
}
